/** What stands behind a Service, in slices. */
import { beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Body } from "../support/raw.ts";
import { handmadePods } from "./pods.ts";
import { at, inGroup, refusal, refused, type Staged } from "./stage.ts";

const ZONE = "topology.kubernetes.io/zone";
const OURS = "endpointslice-controller.k8s.io";
const MIRRORED = "endpointslicemirroring-controller.k8s.io";
const TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time";

interface Slice extends Body {
  readonly addressType: string;
  readonly endpoints: readonly Endpoint[] | null;
  readonly ports: readonly { name?: string; port?: number; protocol?: string }[] | null;
}

interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
  readonly targetRef?: {
    readonly kind: string;
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
  };
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly zone?: string;
  readonly hints?: unknown;
}

export function endpointSlicesSuite(stage: Staged): void {
  const pods = handmadePods(stage);
  let space: string;
  let node: string;
  beforeAll(async () => {
    space = await pods.namespace();
    node = await pods.node({ [ZONE]: "zone-a" });
  });

  const slicePath = (name?: string) => inGroup("discovery.k8s.io", "v1", "endpointslices", space, name);
  const slicesOf = async (service: string): Promise<Slice[]> => {
    const { body } = await stage().admin.get(`${slicePath()}?labelSelector=kubernetes.io%2Fservice-name%3D${service}`);
    return body.items as Slice[];
  };
  const made = async (name: string, spec: object, metadata: object = {}): Promise<Body> => {
    const { code, body } = await stage().admin.post(at(space, "services"), { metadata: { name, ...metadata }, spec });
    expect([code, body.message]).toEqual([201, undefined]);
    return body;
  };
  const web = { ports: [{ port: 80 }] };
  /** The endpoints of the only slice of a Service, by the name of their Pod. */
  const endpointsOf = async (service: string): Promise<Record<string, Endpoint>> => {
    const [slice, ...others] = await slicesOf(service);
    expect(others).toEqual([]);
    return Object.fromEntries((slice?.endpoints ?? []).map((endpoint) => [endpoint.targetRef?.name, endpoint]));
  };

  describe("of Services that select Pods", () => {
    it("endpointslices.placeholder: are one that is empty, as long as there are no Pods", async () => {
      const service = await made("lonely", { ...web, selector: { app: "nobody" } }, { labels: { team: "blue" } });
      const [slice] = await eventually(async () => {
        const slices = await slicesOf("lonely");
        expect(slices).toHaveLength(1);
        return slices;
      });
      expect(slice).toMatchObject({
        addressType: "IPv4",
        metadata: {
          generateName: "lonely-",
          labels: {
            team: "blue",
            "kubernetes.io/service-name": "lonely",
            "endpointslice.kubernetes.io/managed-by": OURS,
          },
          annotations: { [TRIGGER]: service.metadata.creationTimestamp },
          ownerReferences: [
            {
              apiVersion: "v1",
              kind: "Service",
              name: "lonely",
              uid: service.metadata.uid,
              controller: true,
              blockOwnerDeletion: true,
            },
          ],
        },
      });
      expect(slice?.endpoints ?? []).toEqual([]);
      expect(slice?.ports ?? []).toEqual([]);
    });

    it("endpointslices.endpoints: say of each Pod where it is and whether it serves", async () => {
      const labels = { app: "told" };
      await made("told", { ports: [{ name: "http", port: 80, targetPort: 8080 }], selector: labels });
      const ready = await pods.pod(space, "told-ready", { node, labels });
      await pods.pod(space, "told-slow", { node, labels });
      await pods.pod(space, "told-waiting", { node, labels });
      await pods.pod(space, "told-leaving", { node, labels, metadata: { finalizers: ["example.com/stay"] } });
      await pods.pod(space, "told-done", { node, labels });
      await pods.report(space, "told-ready", { ip: "192.0.2.1" });
      await pods.report(space, "told-slow", { ip: "192.0.2.2", isReady: false });
      await pods.report(space, "told-leaving", { ip: "192.0.2.3" });
      await pods.report(space, "told-done", { ip: "192.0.2.4", phase: "Succeeded" });
      await stage().admin.delete(at(space, "pods", "told-leaving"), { gracePeriodSeconds: 0 });

      const conditions = (isReady: boolean, isServing: boolean, isLeaving: boolean) => ({
        conditions: { ready: isReady, serving: isServing, terminating: isLeaving },
      });
      await eventually(async () => {
        expect(await endpointsOf("told")).toEqual({
          "told-ready": expect.objectContaining(conditions(true, true, false)),
          "told-slow": expect.objectContaining(conditions(false, false, false)),
          "told-leaving": expect.objectContaining(conditions(false, true, true)),
        });
      });
      const [slice] = await slicesOf("told");
      expect(slice?.ports).toEqual([{ name: "http", port: 8080, protocol: "TCP" }]);
      const { "told-ready": endpoint } = await endpointsOf("told");
      expect(endpoint).toEqual({
        addresses: ["192.0.2.1"],
        ...conditions(true, true, false),
        targetRef: { kind: "Pod", namespace: space, name: "told-ready", uid: ready.metadata.uid },
        nodeName: node,
        zone: "zone-a",
      });
      await stage().admin.patch(at(space, "pods", "told-leaving"), { metadata: { finalizers: null } });
    });

    it("endpointslices.changes: follow a Pod that becomes ready, and tell when it did", async () => {
      const labels = { app: "turning" };
      await made("turning", { ...web, selector: labels });
      await pods.pod(space, "turning", { node, labels });
      await pods.report(space, "turning", { ip: "192.0.2.5", isReady: false, since: "2026-01-01T00:00:00Z" });
      await eventually(async () =>
        expect((await endpointsOf("turning")).turning?.conditions).toMatchObject({ ready: false }),
      );
      await pods.report(space, "turning", { ip: "192.0.2.5", since: "2026-01-01T00:01:00Z" });
      await eventually(async () =>
        expect((await endpointsOf("turning")).turning?.conditions).toMatchObject({ ready: true }),
      );
      const [slice] = await slicesOf("turning");
      expect(slice?.metadata.annotations).toEqual({ [TRIGGER]: "2026-01-01T00:01:00Z" });

      await stage().admin.patch(at(space, "pods", "turning"), { metadata: { labels: { app: "elsewhere" } } });
      await eventually(async () => expect(await endpointsOf("turning")).toEqual({}));
    });

    it("endpointslices.not-ready: call those ready who are published before they are", async () => {
      const labels = { app: "early" };
      await made("early", { ...web, clusterIP: "None", selector: labels, publishNotReadyAddresses: true });
      await pods.pod(space, "early", { node, labels });
      await pods.report(space, "early", { ip: "192.0.2.6", isReady: false });
      await eventually(async () =>
        expect((await endpointsOf("early")).early?.conditions).toEqual({
          ready: true,
          serving: false,
          terminating: false,
        }),
      );
    });

    it("endpointslices.headless: are marked, need no ports, and carry the names of Pods below their domain", async () => {
      const labels = { app: "domain" };
      await made("domain", { clusterIP: "None", selector: labels });
      await pods.pod(space, "domain-0", { node, labels, spec: { hostname: "zero", subdomain: "domain" } });
      await pods.pod(space, "domain-1", { node, labels, spec: { hostname: "one", subdomain: "other" } });
      await pods.report(space, "domain-0", { ip: "192.0.2.7" });
      await pods.report(space, "domain-1", { ip: "192.0.2.8" });
      await eventually(async () => {
        const endpoints = await endpointsOf("domain");
        expect(endpoints["domain-0"]?.hostname).toBe("zero");
        expect(endpoints["domain-1"]?.addresses).toEqual(["192.0.2.8"]);
        expect(endpoints["domain-1"]?.hostname).toBeUndefined();
      });
      const [slice] = await slicesOf("domain");
      expect(slice?.metadata.labels).toMatchObject({ "service.kubernetes.io/headless": "" });
      expect(slice?.ports ?? []).toEqual([]);
    });

    it("endpointslices.named-ports: are apart for Pods that have a port under another number", async () => {
      const labels = { app: "named" };
      await made("named", { ports: [{ name: "http", port: 80, targetPort: "web" }], selector: labels });
      for (const [name, containerPort] of Object.entries({ "named-a": 8080, "named-b": 9090 })) {
        await pods.pod(space, name, { node, labels, ports: [{ name: "web", containerPort }] });
        await pods.report(space, name, { ip: `192.0.2.${containerPort === 8080 ? 10 : 11}` });
      }
      await eventually(async () => {
        const slices = await slicesOf("named");
        const shown = slices.map(({ ports, endpoints }) => [ports?.[0]?.port, endpoints?.[0]?.targetRef?.name]);
        expect(shown.toSorted()).toEqual([
          [8080, "named-a"],
          [9090, "named-b"],
        ]);
      });
    });

    it("endpointslices.size: hold a hundred endpoints each", { timeout: 60_000 }, async () => {
      const labels = { app: "crowd" };
      await made("crowd", { ...web, selector: labels });
      await Promise.all(
        Array.from({ length: 105 }, async (_, index) => {
          await pods.pod(space, `crowd-${index}`, { node, labels });
          await pods.report(space, `crowd-${index}`, { ip: `198.51.100.${index + 1}` });
        }),
      );
      await eventually(async () => {
        const sizes = (await slicesOf("crowd")).map(({ endpoints }) => endpoints?.length ?? 0);
        expect(sizes.reduce((all, size) => all + size, 0)).toBe(105);
        expect(sizes.every((size) => size <= 100)).toBe(true);
      });
      await stage().admin.delete(`${at(space, "pods")}?labelSelector=app%3Dcrowd&gracePeriodSeconds=0`);
      await eventually(async () => expect(await endpointsOf("crowd")).toEqual({}));
    });

    it("endpointslices.hints: say where to stay, when traffic is to stay near", async () => {
      const labels = { app: "near" };
      await made("near", { ...web, selector: labels, trafficDistribution: "PreferSameNode" });
      await pods.pod(space, "near", { node, labels });
      await pods.report(space, "near", { ip: "192.0.2.12" });
      await eventually(async () =>
        expect((await endpointsOf("near")).near?.hints).toEqual({
          forZones: [{ name: "zone-a" }],
          forNodes: [{ name: node }],
        }),
      );
    });

    it("endpointslices.labels: take over the labels of their Service", async () => {
      const service = await made("labelled", { ...web, selector: { app: "nobody" } }, { labels: { a: "1" } });
      await eventually(async () => expect(await slicesOf("labelled")).toHaveLength(1));
      await stage().admin.put(at(space, "services", "labelled"), {
        ...service,
        metadata: { ...service.metadata, labels: { b: "2" } },
      });
      // A slice without endpoints is made anew rather than relabelled, so it is looked up each time.
      await eventually(async () => {
        const [slice] = await slicesOf("labelled");
        expect(slice?.metadata.labels).toEqual({
          b: "2",
          "kubernetes.io/service-name": "labelled",
          "endpointslice.kubernetes.io/managed-by": OURS,
        });
      });
    });

    it("endpointslices.repair: come back when somebody deletes or changes them", async () => {
      const labels = { app: "kept" };
      await made("kept", { ...web, selector: labels });
      await pods.pod(space, "kept", { node, labels });
      await pods.report(space, "kept", { ip: "192.0.2.13" });
      await eventually(async () => expect((await endpointsOf("kept")).kept?.addresses).toEqual(["192.0.2.13"]));

      const [slice] = await slicesOf("kept");
      await stage().admin.delete(slicePath(slice?.metadata.name));
      const again = await eventually(async () => {
        const [other] = await slicesOf("kept");
        expect(other?.metadata.uid).toBeDefined();
        expect(other?.metadata.uid).not.toBe(slice?.metadata.uid);
        return other;
      });
      await stage().admin.patch(slicePath(again?.metadata.name), { endpoints: [{ addresses: ["203.0.113.9"] }] });
      await eventually(async () => expect((await endpointsOf("kept")).kept?.addresses).toEqual(["192.0.2.13"]));
    });

    it("endpointslices.gone: go with their Service", async () => {
      await made("leaving", { ...web, selector: { app: "nobody" } });
      await eventually(async () => expect(await slicesOf("leaving")).toHaveLength(1));
      await stage().admin.delete(at(space, "services", "leaving"));
      await eventually(async () => expect(await slicesOf("leaving")).toEqual([]));
    });

    it("endpointslices.none: are not made for Services without a selector or address", async () => {
      await made("by-hand", web);
      await made("elsewhere", { type: "ExternalName", externalName: "example.com", selector: { app: "nobody" } });
      await made("witness", { ...web, selector: { app: "nobody" } });
      await eventually(async () => expect(await slicesOf("witness")).toHaveLength(1));
      expect([await slicesOf("by-hand"), await slicesOf("elsewhere")]).toEqual([[], []]);
    });
  });

  describe("of Endpoints by hand", () => {
    const endpoints = (name?: string) => at(space, "endpoints", name);
    const ports = [{ name: "http", port: 8080, protocol: "TCP" }];

    it("endpointslices.mirror: repeat them, change with them and go with them", async () => {
      await made("mirrored", web);
      const { body: first } = await stage().admin.post(endpoints(), {
        metadata: { name: "mirrored", labels: { a: "1" }, annotations: { note: "x" } },
        subsets: [{ addresses: [{ ip: "192.0.2.20" }], notReadyAddresses: [{ ip: "192.0.2.21" }], ports }],
      });
      const [slice] = await eventually(async () => {
        const slices = await slicesOf("mirrored");
        expect(slices).toHaveLength(1);
        return slices;
      });
      expect(slice).toMatchObject({
        addressType: "IPv4",
        ports,
        metadata: {
          labels: {
            a: "1",
            "kubernetes.io/service-name": "mirrored",
            "endpointslice.kubernetes.io/managed-by": MIRRORED,
          },
          annotations: { note: "x" },
          ownerReferences: [{ kind: "Endpoints", name: "mirrored", uid: first.metadata.uid, controller: true }],
        },
      });
      const shown = (found: Slice | undefined) =>
        (found?.endpoints ?? []).map(({ addresses, conditions }) => [addresses[0], conditions.ready]).toSorted();
      expect(shown(slice)).toEqual([
        ["192.0.2.20", true],
        ["192.0.2.21", false],
      ]);

      await stage().admin.patch(endpoints("mirrored"), { subsets: [{ addresses: [{ ip: "192.0.2.22" }], ports }] });
      await eventually(async () => expect(shown((await slicesOf("mirrored"))[0])).toEqual([["192.0.2.22", true]]));
      expect((await slicesOf("mirrored"))[0]?.metadata.name).toBe(slice?.metadata.name);

      await stage().admin.delete(endpoints("mirrored"));
      await eventually(async () => expect(await slicesOf("mirrored")).toEqual([]));
    });

    it("endpointslices.mirror-families: are one for each family of addresses", async () => {
      await made("both", web);
      await stage().admin.post(endpoints(), {
        metadata: { name: "both" },
        subsets: [{ addresses: [{ ip: "192.0.2.23" }, { ip: "2001:db8::23" }], ports }],
      });
      await eventually(async () => {
        const types = (await slicesOf("both")).map(({ addressType }) => addressType);
        expect(types.toSorted()).toEqual(["IPv4", "IPv6"]);
      });
    });

    it("endpointslices.skip-mirror: are not made where a label forbids it", async () => {
      await made("unmirrored", web);
      await made("mirror-witness", web);
      const subsets = [{ addresses: [{ ip: "192.0.2.24" }], ports }];
      const labels = { "endpointslice.kubernetes.io/skip-mirror": "true" };
      await stage().admin.post(endpoints(), { metadata: { name: "unmirrored", labels }, subsets });
      await stage().admin.post(endpoints(), { metadata: { name: "mirror-witness" }, subsets });
      await eventually(async () => expect(await slicesOf("mirror-witness")).toHaveLength(1));
      expect(await slicesOf("unmirrored")).toEqual([]);
    });
  });

  it("endpointslices.kubernetes: lead to the API server itself", async () => {
    const service = await stage().admin.get(at("default", "services", "kubernetes"));
    const [port] = (service.body.spec as { ports: { targetPort: number }[] }).ports;
    const ports = [{ name: "https", port: port?.targetPort, protocol: "TCP" }];
    const endpoints = await stage().admin.get(at("default", "endpoints", "kubernetes"));
    expect(endpoints.body).toMatchObject({
      metadata: { labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
      subsets: [{ addresses: [{ ip: expect.any(String) }], ports }],
    });
    const slice = await stage().admin.get(inGroup("discovery.k8s.io", "v1", "endpointslices", "default", "kubernetes"));
    expect(slice.body).toMatchObject({
      addressType: "IPv4",
      ports,
      endpoints: [{ addresses: [expect.any(String)], conditions: { ready: true } }],
      metadata: { labels: { "kubernetes.io/service-name": "kubernetes" } },
    });
  });

  it.each([
    ["no address type", {}, "addressType FieldValueRequired"],
    ["an unknown address type", { addressType: "Mail" }, "addressType FieldValueNotSupported"],
    ["no addresses", { addressType: "IPv4", endpoints: [{}] }, "endpoints[0].addresses FieldValueRequired"],
    [
      "an address that is none",
      { addressType: "IPv4", endpoints: [{ addresses: ["here"] }] },
      "endpoints[0].addresses[0] FieldValueInvalid",
    ],
    [
      "an address of the other family",
      { addressType: "IPv6", endpoints: [{ addresses: ["192.0.2.1"] }] },
      "endpoints[0].addresses FieldValueInvalid",
    ],
    [
      "two ports of one name",
      { addressType: "IPv4", ports: [{ name: "a" }, { name: "a" }] },
      "ports[1].name FieldValueDuplicate",
    ],
    [
      "an unknown protocol",
      { addressType: "IPv4", ports: [{ protocol: "SMOKE" }] },
      "ports[0].protocol FieldValueNotSupported",
    ],
  ])("endpointslices.refusals: refuses %s", async (_, slice, cause) => {
    const reply = await stage().admin.post(slicePath(), { metadata: { generateName: "bad-" }, ...slice });
    expect(refusal(reply)).toEqual(refused(422, "Invalid", cause));
  });
}
