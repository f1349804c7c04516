import { describe, expect, it } from "vitest";
import { ipAddressesController } from "./ip-addresses.controller.ts";
import { IP_ADDRESSES, SERVICE_CIDRS, SERVICES } from "./selection.ts";
import { serviceRangesController } from "./service-ranges.controller.ts";
import { type Ground, ground, ports } from "./testing/behind.ts";

const start = () => ground((parts) => [serviceRangesController(parts), ipAddressesController(parts)]);
const range = (here: Ground, name: string, ...cidrs: string[]) =>
  here
    .create(SERVICE_CIDRS, {
      apiVersion: "networking.k8s.io/v1",
      kind: "ServiceCIDR",
      metadata: { name },
      spec: { cidrs },
    })
    .then(() => here.settle());
const remove = async (here: Ground, storage: string, key: string) => {
  const object = here.get(storage, key);
  if (object) await here.writer.remove(storage, object);
  await here.settle();
};
const conditionOf = (here: Ground, name: string) =>
  (here.get(SERVICE_CIDRS, name)?.status as { conditions?: object[] } | undefined)?.conditions?.[0];

describe("the addresses of Services", () => {
  it("are written down while a Service has them, and nothing is written the second time", async () => {
    const here = await start();
    await here.service("web", { ports, clusterIP: "10.96.0.9" });
    await here.service("loose", { ports, clusterIP: "None" });
    expect(here.list(IP_ADDRESSES)).toMatchObject([
      {
        metadata: { name: "10.96.0.9" },
        spec: { parentRef: { resource: "services", namespace: "default", name: "web" } },
      },
    ]);
    expect(await here.lookAgain()).toBe(0);

    await remove(here, IP_ADDRESSES, "10.96.0.9");
    expect(here.list(IP_ADDRESSES)).toHaveLength(1);
    await remove(here, SERVICES, "default/web");
    expect(here.list(IP_ADDRESSES)).toEqual([]);
  });

  it("pass to the next Service that has them", async () => {
    const here = await start();
    await here.service("web", { ports, clusterIP: "10.96.0.9" });
    const web = here.get(SERVICES, "default/web");
    await Promise.all([
      web && here.writer.remove(SERVICES, web),
      here.service("shop", { ports, clusterIP: "10.96.0.9" }),
    ]);
    await here.settle();
    expect(here.get(IP_ADDRESSES, "10.96.0.9")?.spec).toMatchObject({ parentRef: { name: "shop" } });
  });
});

describe("a range of addresses", () => {
  it("is ready, and nothing is written the second time", async () => {
    const here = await start();
    await range(here, "kubernetes", "10.96.0.0/16");
    expect(conditionOf(here, "kubernetes")).toMatchObject({ type: "Ready", status: "True" });
    expect(await here.lookAgain()).toBe(0);
  });

  it("goes at once when nobody has an address out of it", async () => {
    const here = await start();
    await range(here, "more", "203.0.113.0/24");
    await remove(here, SERVICE_CIDRS, "more");
    expect(here.get(SERVICE_CIDRS, "more")).toBeUndefined();
  });

  it("stays while somebody has one, and says so", async () => {
    const here = await start();
    await range(here, "more", "203.0.113.0/24");
    await here.service("web", { ports, clusterIP: "203.0.113.5" });
    await remove(here, SERVICE_CIDRS, "more");
    expect(conditionOf(here, "more")).toMatchObject({ status: "False", reason: "Terminating" });
    await remove(here, SERVICES, "default/web");
    expect(here.get(SERVICE_CIDRS, "more")).toBeUndefined();
  });

  it("may go when a larger one holds all of it", async () => {
    const here = await start();
    await range(here, "more", "203.0.113.0/24");
    await here.service("web", { ports, clusterIP: "203.0.113.5" });
    await remove(here, SERVICE_CIDRS, "more");
    await range(here, "larger", "203.0.0.0/16");
    expect(here.get(SERVICE_CIDRS, "more")).toBeUndefined();
  });
});
