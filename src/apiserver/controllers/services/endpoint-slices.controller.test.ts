import { describe, expect, it } from "vitest";
import { type EndpointSlice, SliceLabel } from "#api/discovery";
import type { Stored } from "../workloads/stored.ts";
import { endpointSlicesController } from "./endpoint-slices.controller.ts";
import { NODES, SERVICES, SLICES, ZONE_LABEL } from "./selection.ts";
import { type Ground, ground, labels, ports } from "./testing/behind.ts";

const start = () => ground((parts) => [endpointSlicesController(parts)]);
const slicesIn = (here: Ground) => here.list(SLICES) as Stored<EndpointSlice>[];
const endpointsIn = (here: Ground) => slicesIn(here).flatMap(({ endpoints }) => endpoints ?? []);

describe("the slices of a Service", () => {
  it("follow its Pods, and nothing is written the second time", async () => {
    const here = await start();
    await here.node("n1", { [ZONE_LABEL]: "z1" });
    await here.service("web", { ports, selector: labels });
    expect(endpointsIn(here)).toEqual([]);
    await here.pod("a", { ip: "10.1.0.1" });
    await here.pod("b", { ip: "10.1.0.2", isReady: false });
    expect(endpointsIn(here).map(({ addresses, conditions, zone }) => [addresses[0], conditions?.ready, zone])).toEqual(
      [
        ["10.1.0.1", true, "z1"],
        ["10.1.0.2", false, "z1"],
      ],
    );
    expect(slicesIn(here)).toHaveLength(1);
    expect(await here.lookAgain()).toBe(0);
  });

  it("wait for the Node of a Pod, because one that is nowhere cannot be reached", async () => {
    const here = await start();
    await here.service("web", { ports, selector: labels });
    await here.service("open", { ports, selector: labels, publishNotReadyAddresses: true });
    await here.pod("a", { ip: "10.1.0.1" });
    const of = (name: string) =>
      slicesIn(here).find(({ metadata }) => metadata.labels?.[SliceLabel.serviceName] === name)?.endpoints ?? [];
    expect([of("web").length, of("open").length]).toEqual([0, 1]);
    await here.node("n1");
    expect(of("web")).toHaveLength(1);
  });

  it("move with their Node to another zone, and do not mind its heartbeats", async () => {
    const here = await start();
    await here.node("n1", { [ZONE_LABEL]: "z1" });
    await here.service("web", { ports, selector: labels });
    await here.pod("a", { ip: "10.1.0.1" });
    const { revision } = here.store;
    await here.change(NODES, "n1", (draft) => ({ ...draft, status: { phase: "Running" } }), "status");
    await here.settle();
    expect(here.store.revision).toBe(revision + 1);
    await here.change(NODES, "n1", (draft) => ({
      ...draft,
      metadata: { ...draft.metadata, labels: { [ZONE_LABEL]: "z2" } },
    }));
    await here.settle();
    expect(endpointsIn(here)[0]?.zone).toBe("z2");
  });

  it("are of both families where the Service is", async () => {
    const here = await start();
    await here.node("n1");
    await here.service("web", { ports, selector: labels });
    await here.pod("a", { ip: "2001:db8::1" });
    expect(endpointsIn(here)).toEqual([]);
    const families = (...ipFamilies: string[]) =>
      here.store.write(
        SERVICES,
        "default/web",
        (service) => service && { ...service, spec: { ...(service.spec as object), ipFamilies } },
      );
    await families("IPv4", "IPv6");
    await here.settle();
    expect(
      slicesIn(here)
        .map(({ addressType, endpoints }) => [addressType, endpoints?.length ?? 0])
        .sort(),
    ).toEqual([
      ["IPv4", 0],
      ["IPv6", 1],
    ]);
    await families("IPv6");
    await here.settle();
    expect(slicesIn(here).map(({ addressType }) => addressType)).toEqual(["IPv6"]);
  });

  it("are not taken over from an earlier Service of that name", async () => {
    const here = await start();
    await here.service("web", { ports, selector: labels });
    const [old] = slicesIn(here);
    const service = here.get(SERVICES, "default/web");
    if (service) await here.writer.remove(SERVICES, service);
    await here.service("web", { ports, selector: labels });
    expect(slicesIn(here)).toHaveLength(1);
    expect(slicesIn(here)[0]?.metadata.uid).not.toBe(old?.metadata.uid);
  });

  it("do not come back while their Service is being deleted", async () => {
    const here = await start();
    await here.service("web", { ports, selector: labels }, { finalizers: ["example.com/wait"] });
    const [service, slice] = [here.get(SERVICES, "default/web"), slicesIn(here)[0]];
    if (service) await here.writer.remove(SERVICES, service);
    if (slice) await here.writer.remove(SLICES, slice);
    await here.settle();
    expect(slicesIn(here)).toEqual([]);
  });

  it("are none in a namespace that ends", async () => {
    const here = await start();
    const ending = (isEnding: boolean) =>
      here.store.write("core/namespaces", "default", (namespace) => {
        if (!namespace) return undefined;
        const { deletionTimestamp: _, ...metadata } = namespace.metadata;
        return {
          ...namespace,
          metadata: { ...metadata, ...(isEnding && { deletionTimestamp: "2026-01-01T00:00:00Z" }) },
        };
      });
    await here.service("web", { ports, selector: labels });
    await ending(true);
    const [slice] = slicesIn(here);
    if (slice) await here.writer.remove(SLICES, slice);
    await here.settle();
    expect(slicesIn(here)).toEqual([]);
  });
});
