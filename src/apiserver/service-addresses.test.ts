import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { createServiceAddresses, IP_MANAGER } from "./service-addresses.ts";
import { openStore } from "./store/index.ts";

const SERVICES = "core/services";
const web = { namespace: "default", name: "web" };
const shop = { namespace: "default", name: "shop" };

async function start() {
  const clock = new ManualClock();
  const store = await openStore({ durability: "memory" });
  const addresses = createServiceAddresses(store, clock);
  const put = (resource: string, name: string, more: object = {}, namespace?: string) =>
    store.write(resource, namespace ? `${namespace}/${name}` : name, () => {
      const metadata = { name, ...(namespace && { namespace }) };
      return { apiVersion: "v1", kind: "Any", metadata, ...more } as DynamicObject;
    });
  const hold = (service: typeof web, spec: object) => put(SERVICES, service.name, { spec }, service.namespace);
  return { clock, store, addresses, put, hold };
}

const isRefused = ({ value }: { value?: unknown }) => value === undefined;

describe("addresses of Services", () => {
  it("are chosen from the range, away from where people choose their own", async () => {
    const { addresses } = await start();
    for (let count = 0; count < 200; count++) {
      const { value = "" } = addresses.clusterIp({ namespace: "default", name: `s${count}` });
      expect(value).toMatch(/^10\.96\.([1-9]|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])\.\d+$/);
    }
  });

  it("are given to one Service, which may ask for its own again", async () => {
    const { addresses, hold, store } = await start();
    await hold(web, { clusterIPs: ["10.96.0.9"] });
    expect(addresses.clusterIp({ ...web, address: "10.96.0.9" })).toEqual({ value: "10.96.0.9" });
    expect(isRefused(addresses.clusterIp({ ...shop, address: "10.96.0.9" }))).toBe(true);
    await store.write(SERVICES, "default/web", () => undefined);
    expect(addresses.clusterIp({ ...shop, address: "10.96.0.9" })).toEqual({ value: "10.96.0.9" });
  });

  it("are kept for a moment for who was given one and has not written it down yet", async () => {
    const { addresses, clock, hold } = await start();
    addresses.clusterIp({ ...web, address: "10.96.0.9" });
    expect(isRefused(addresses.clusterIp({ ...shop, address: "10.96.0.9" }))).toBe(true);
    clock.advance(6_000);
    expect(addresses.clusterIp({ ...shop, address: "10.96.0.9" })).toEqual({ value: "10.96.0.9" });

    addresses.clusterIp({ ...web, address: "10.96.0.8" });
    await hold(web, { clusterIPs: ["10.96.0.7"] });
    expect(addresses.clusterIp({ ...shop, address: "10.96.0.8" })).toEqual({ value: "10.96.0.8" });
  });

  it("are not kept for a request that runs dry", async () => {
    const { addresses } = await start();
    expect(addresses.clusterIp({ ...web, address: "10.96.0.9", dryRun: true })).toEqual({ value: "10.96.0.9" });
    expect(addresses.clusterIp({ ...shop, address: "10.96.0.9" })).toEqual({ value: "10.96.0.9" });
  });

  it.each(["10.97.0.1", "10.96.0.0", "10.96.255.255", "2001:db8::1"])("are none of them: %s", async (address) => {
    const { addresses } = await start();
    expect(isRefused(addresses.clusterIp({ ...web, address }))).toBe(true);
  });

  it("come out of the ranges that are ready, until they are full", async () => {
    const { addresses, put } = await start();
    const range = (name: string, block: string, more: object = {}) =>
      put("networking.k8s.io/servicecidrs", name, {
        spec: { cidrs: [block] },
        status: { conditions: [{ type: "Ready", status: "True" }] },
        ...more,
      });
    await range("small", "203.0.113.0/29");
    await range("unready", "198.51.100.0/24", { status: {} });
    const given = Array.from({ length: 7 }, (_, index) =>
      addresses.clusterIp({ namespace: "default", name: `s${index}` }),
    );
    const six = [1, 2, 3, 4, 5, 6].map((last) => `203.0.113.${last}`);
    expect(given.flatMap(({ value }) => value ?? []).sort()).toEqual(six);
    expect(given[6]).toEqual({ refused: "range is full" });
    expect(isRefused(addresses.clusterIp({ ...web, address: "198.51.100.1" }))).toBe(true);
  });

  it("are not those that something else has, and those that were only written down for a Service", async () => {
    const { addresses, put } = await start();
    const record = (name: string, labels: object) =>
      put("networking.k8s.io/ipaddresses", name, { metadata: { name, labels } });
    await record("10.96.0.8", {});
    await record("10.96.0.9", { [IP_MANAGER.label]: IP_MANAGER.name });
    expect(isRefused(addresses.clusterIp({ ...web, address: "10.96.0.8" }))).toBe(true);
    expect(addresses.clusterIp({ ...web, address: "10.96.0.9" })).toEqual({ value: "10.96.0.9" });
  });
});

describe("ports on the nodes", () => {
  it("are chosen above those that people choose, and never twice", async () => {
    const { addresses } = await start();
    const chosen = Array.from({ length: 50 }, (_, index) => {
      const { value = 0 } = addresses.nodePort({ namespace: "default", name: `s${index}`, taken: [] });
      return value;
    });
    expect(new Set(chosen).size).toBe(50);
    expect(Math.min(...chosen)).toBeGreaterThanOrEqual(30_086);
    expect(Math.max(...chosen)).toBeLessThanOrEqual(32_767);
  });

  it("are taken by Services, also to ask nodes on", async () => {
    const { addresses, hold } = await start();
    await hold(web, { ports: [{ nodePort: 30_001 }], healthCheckNodePort: 30_002 });
    for (const port of [30_001, 30_002]) {
      expect(isRefused(addresses.nodePort({ ...shop, port, taken: [] }))).toBe(true);
      expect(addresses.nodePort({ ...web, port, taken: [] })).toEqual({ value: port });
    }
    expect(isRefused(addresses.nodePort({ ...web, port: 30_003, taken: [30_003] }))).toBe(true);
    expect(isRefused(addresses.nodePort({ ...web, port: 80, taken: [] }))).toBe(true);
  });
});
