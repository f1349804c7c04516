import { describe, expect, it } from "vitest";
import { ownService } from "../../bootstrap-objects.ts";
import { kubernetesServiceController } from "./kubernetes-service.controller.ts";
import { ENDPOINTS, SERVICES, SLICES } from "./selection.ts";
import { type Ground, ground } from "./testing/behind.ts";

const KEY = "default/kubernetes";

async function start(): Promise<Ground> {
  const own = ownService("127.0.0.1", 6443);
  const here = await ground((parts) => [kubernetesServiceController({ ...parts, ownService: own })]);
  for (const { storage, object } of own) await here.writer.ensure(storage, object);
  await here.settle();
  return here;
}

describe("the Service of the API server", () => {
  it("is left alone while it is as it should be", async () => {
    const here = await start();
    expect(await here.lookAgain()).toBe(0);
  });

  it("comes back when somebody deletes it, or anything that belongs to it", async () => {
    const here = await start();
    for (const storage of [SERVICES, ENDPOINTS, SLICES]) {
      const object = here.get(storage, KEY);
      if (object) await here.writer.remove(storage, object);
    }
    await here.settle();
    expect([SERVICES, ENDPOINTS, SLICES].map((storage) => here.get(storage, KEY)?.kind)).toEqual([
      "Service",
      "Endpoints",
      "EndpointSlice",
    ]);
  });

  it("leads to where the server is, also when it was somewhere else before", async () => {
    const here = await start();
    const elsewhere = { addresses: [{ ip: "192.0.2.1" }], ports: [{ name: "https", port: 443, protocol: "TCP" }] };
    await here.change(ENDPOINTS, KEY, (draft) => ({ ...draft, subsets: [elsewhere] }));
    await here.change(SLICES, KEY, (draft) => ({ ...draft, endpoints: [{ addresses: ["192.0.2.1"] }] }));
    await here.settle();
    expect(here.get(ENDPOINTS, KEY)?.subsets).toMatchObject([
      { addresses: [{ ip: "127.0.0.1" }], ports: [{ port: 6443 }] },
    ]);
    expect(here.get(SLICES, KEY)?.endpoints).toMatchObject([{ addresses: ["127.0.0.1"] }]);
  });
});
