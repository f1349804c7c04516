import { describe, expect, it } from "vitest";
import type { EndpointSlice } from "#api/discovery";
import type { Stored } from "../workloads/stored.ts";
import { endpointSliceMirroringController } from "./endpoint-slice-mirroring.controller.ts";
import { ENDPOINTS, SERVICES, SLICES } from "./selection.ts";
import { type Ground, ground, ports } from "./testing/behind.ts";

const start = () => ground((parts) => [endpointSliceMirroringController(parts)]);
const slicesIn = (here: Ground) => here.list(SLICES) as Stored<EndpointSlice>[];
const http = [{ name: "http", port: 8080 }];

const write = (here: Ground, subsets: object[], metadata: object = {}) =>
  here
    .create(ENDPOINTS, {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { namespace: "default", name: "web", ...metadata },
      subsets,
    })
    .then(() => here.settle());

describe("Endpoints by hand", () => {
  it("are repeated in slices, and nothing is written the second time", async () => {
    const here = await start();
    await here.service("web", { ports });
    await write(here, [
      { addresses: [{ ip: "10.1.0.1", hostname: "a", nodeName: "n1" }], ports: http },
      { addresses: [{ ip: "10.1.0.2" }, { ip: "2001:db8::2" }], ports: [{ name: "https", port: 8443 }] },
    ]);
    const shown = slicesIn(here).map(({ addressType, ports: offered, endpoints }) => [
      addressType,
      offered?.[0]?.port,
      endpoints.map(({ addresses }) => addresses[0]),
    ]);
    expect(shown.sort()).toEqual([
      ["IPv4", 8080, ["10.1.0.1"]],
      ["IPv4", 8443, ["10.1.0.2"]],
      ["IPv6", 8443, ["2001:db8::2"]],
    ]);
    expect(await here.lookAgain()).toBe(0);
  });

  it("take slices along that would otherwise go", async () => {
    const here = await start();
    await here.service("web", { ports });
    await write(here, [{ addresses: [{ ip: "10.1.0.1" }], ports: http }]);
    const [before] = slicesIn(here);
    await here.change(ENDPOINTS, "default/web", (draft) => ({
      ...draft,
      subsets: [{ addresses: [{ ip: "10.1.0.1" }], ports: [{ name: "http", port: 9090 }] }],
    }));
    await here.settle();
    expect(slicesIn(here)).toHaveLength(1);
    expect(slicesIn(here)[0]).toMatchObject({ metadata: { name: before?.metadata.name }, ports: [{ port: 9090 }] });
  });

  it.each([
    ["nobody knows the Service", undefined, {}],
    ["the Service selects Pods, which have slices already", { ports, selector: { a: "b" } }, {}],
    ["a label forbids it", { ports }, { labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } }],
    [
      "a leader keeps its record there",
      { ports },
      { annotations: { "control-plane.alpha.kubernetes.io/leader": "{}" } },
    ],
  ])("are not repeated when %s", async (_, spec, metadata) => {
    const here = await start();
    if (spec) await here.service("web", spec);
    await write(here, [{ addresses: [{ ip: "10.1.0.1" }], ports: http }], metadata);
    expect(slicesIn(here)).toEqual([]);
  });

  it("are no longer repeated once the Service selects Pods", async () => {
    const here = await start();
    await here.service("web", { ports });
    await write(here, [{ addresses: [{ ip: "10.1.0.1" }], ports: http }]);
    expect(slicesIn(here)).toHaveLength(1);
    await here.change(SERVICES, "default/web", (draft) => ({
      ...draft,
      spec: { ...(draft.spec as object), selector: { a: "b" } },
    }));
    await here.settle();
    expect(slicesIn(here)).toEqual([]);
  });

  it("are repeated up to a thousand addresses, and people are told of the rest", async () => {
    const here = await start();
    await here.service("web", { ports });
    const addresses = Array.from({ length: 1002 }, (_, index) => ({
      ip: `10.${Math.floor(index / 250)}.0.${index % 250}`,
    }));
    await write(here, [{ addresses, ports: http }]);
    expect(slicesIn(here)[0]?.endpoints).toHaveLength(1000);
    expect(here.list("core/events")).toMatchObject([{ reason: "TooManyAddressesToMirror", type: "Warning" }]);
  });
});
