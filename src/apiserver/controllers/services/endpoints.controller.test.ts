import { describe, expect, it } from "vitest";
import type { Endpoints } from "#api/core";
import type { Stored } from "../workloads/stored.ts";
import { endpointsController } from "./endpoints.controller.ts";
import { ENDPOINTS, SERVICES } from "./selection.ts";
import { type Ground, ground, labels, ports } from "./testing/behind.ts";

const start = () => ground((parts) => [endpointsController(parts)]);
const found = (here: Ground, name = "web") => here.get(ENDPOINTS, `default/${name}`) as Stored<Endpoints> | undefined;
const OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity";

describe("the Endpoints of a Service", () => {
  it("follow its Pods, and nothing is written the second time", async () => {
    const here = await start();
    await here.service("web", { ports, selector: labels });
    await here.pod("a", { ip: "10.1.0.1" });
    await here.pod("b", { ip: "10.1.0.2", isReady: false });
    expect(found(here)?.subsets).toMatchObject([
      {
        addresses: [{ ip: "10.1.0.1" }],
        notReadyAddresses: [{ ip: "10.1.0.2" }],
        ports: [{ name: "http", port: 8080 }],
      },
    ]);
    expect(await here.lookAgain()).toBe(0);
  });

  it("are put right when somebody changes them", async () => {
    const here = await start();
    await here.service("web", { ports, selector: labels });
    await here.change(ENDPOINTS, "default/web", (draft) => ({
      ...draft,
      subsets: [{ addresses: [{ ip: "203.0.113.1" }], ports: [{ port: 80 }] }],
    }));
    await here.settle();
    expect(found(here)?.subsets ?? []).toEqual([]);
  });

  it("list a thousand addresses and say that there are more", async () => {
    const here = await start();
    const crowd = Array.from({ length: 1001 }, (_, index) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "default", name: `p${index}`, labels, uid: `u${index}` },
      spec: { nodeName: "n1", containers: [] },
      status: {
        podIP: `10.${Math.floor(index / 250)}.0.${index % 250}`,
        conditions: [{ type: "Ready", status: "True" }],
      },
    }));
    for (const pod of crowd) void here.store.write("core/pods", `default/${pod.metadata.name}`, () => pod);
    await here.service("web", { ports, selector: labels });
    expect(found(here)?.metadata.annotations).toMatchObject({ [OVER_CAPACITY]: "truncated" });
    expect(found(here)?.subsets?.[0]?.addresses).toHaveLength(1000);
    expect(await here.lookAgain()).toBe(0);

    await here.store.write("core/pods", "default/p0", () => undefined);
    await here.settle();
    expect(found(here)?.metadata.annotations ?? {}).not.toHaveProperty([OVER_CAPACITY]);
  });

  it("go with it, and those that never had one stay", async () => {
    const here = await start();
    const own = (name: string) =>
      here.create(ENDPOINTS, { apiVersion: "v1", kind: "Endpoints", metadata: { namespace: "default", name } });
    await own("own");
    await here.service("by-hand", { ports });
    await own("by-hand");
    await here.service("web", { ports, selector: labels });
    for (const name of ["by-hand", "web"]) {
      const service = here.get(SERVICES, `default/${name}`);
      if (service) await here.writer.remove(SERVICES, service);
    }
    await here.settle();
    expect(here.list(ENDPOINTS).map(({ metadata }) => metadata.name)).toEqual(["own"]);
  });
});
