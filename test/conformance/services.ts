/** Services: what they are given, what they keep when they change, and what is refused. */
import { beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Body } from "../support/raw.ts";
import { at, inGroup, refusal, refused, type Staged } from "./stage.ts";

interface Spec {
  readonly type: string;
  readonly clusterIP?: string;
  readonly clusterIPs?: string[];
  readonly ports?: { name?: string; port: number; nodePort?: number }[];
  readonly healthCheckNodePort?: number;
  readonly [field: string]: unknown;
}

const specOf = ({ spec }: Body): Spec => spec as Spec;
const ports = [{ port: 80 }];

export function servicesSuite(stage: Staged): void {
  let space: string;
  beforeAll(async () => {
    space = await stage().namespace();
  });
  const services = (name?: string) => at(space, "services", name);
  const post = (spec: object, metadata: object = { generateName: "s-" }) =>
    stage().admin.post(services(), { metadata, spec });
  const made = async (spec: object, metadata?: object): Promise<Body> => {
    const { code, body } = await post(spec, metadata);
    expect([code, body.message]).toEqual([201, undefined]);
    return body;
  };
  const changed = async ({ metadata: { name } }: Body, spec: object): Promise<Body> => {
    const { code, body } = await stage().admin.patch(services(name), { spec });
    expect([code, body.message]).toEqual([200, undefined]);
    return body;
  };

  describe("what they are given", () => {
    it.each([
      ["the plain one", { ports }, { type: "ClusterIP", sessionAffinity: "None", internalTrafficPolicy: "Cluster" }],
      [
        "a sticky one",
        { ports, sessionAffinity: "ClientIP" },
        { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } } },
      ],
      [
        "one on every node",
        { ports, type: "NodePort" },
        { externalTrafficPolicy: "Cluster", ports: [{ port: 80, nodePort: expect.any(Number) }] },
      ],
      [
        "a balanced one",
        { ports, type: "LoadBalancer" },
        { allocateLoadBalancerNodePorts: true, ports: [{ port: 80, nodePort: expect.any(Number) }] },
      ],
      [
        "a headless one with a selector",
        { ports, clusterIP: "None", selector: { app: "a" } },
        { clusterIPs: ["None"], ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" },
      ],
      [
        "a headless one without",
        { clusterIP: "None" },
        { clusterIPs: ["None"], ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" },
      ],
      [
        "one that would take two families",
        { ports, ipFamilyPolicy: "PreferDualStack" },
        { ipFamilies: ["IPv4"], ipFamilyPolicy: "PreferDualStack", clusterIPs: [expect.any(String)] },
      ],
      ["one with addresses of its own", { ports, externalIPs: ["192.0.2.1"] }, { externalTrafficPolicy: "Cluster" }],
    ])("services.defaults: %s", async (_, spec, expected) => {
      expect((await made(spec)).spec).toMatchObject(expected);
    });

    it("services.external-name: nothing but a name", async () => {
      const { spec } = await made({
        type: "ExternalName",
        externalName: "example.com.",
        internalTrafficPolicy: "Local",
      });
      expect(spec).toEqual({ type: "ExternalName", externalName: "example.com.", sessionAffinity: "None" });
    });

    it("services.name: may begin with a digit", async () => {
      expect((await post({ ports }, { name: "1st" })).code).toBe(201);
      const bad = await post({ ports }, { name: "a.b" });
      expect(refusal(bad)).toEqual(refused(422, "Invalid", "metadata.name FieldValueInvalid"));
    });

    it("services.wished-address: the address they wish for, if nobody has it", async () => {
      const { metadata, spec } = await made({ ports });
      const { clusterIP } = spec as Spec;
      const taken = await post({ ports, clusterIP });
      expect(refusal(taken)).toEqual(refused(422, "Invalid", "spec.clusterIPs FieldValueInvalid"));
      await stage().admin.delete(services(metadata.name));
      expect(specOf(await made({ ports, clusterIP })).clusterIPs).toEqual([clusterIP]);
    });

    it("services.dry-run: no address for good when they run dry", async () => {
      const spec = { type: "NodePort", clusterIP: "10.96.210.10", ports: [{ port: 80, nodePort: 30_010 }] };
      const dry = await stage().admin.post(`${services()}?dryRun=All`, { metadata: { name: "dry" }, spec });
      expect(dry.code).toBe(201);
      const service = await made(spec);
      expect(service.spec).toMatchObject(spec);
      await stage().admin.delete(services(service.metadata.name));
    });

    it("services.node-ports: one port for the same number in two protocols, and none twice", async () => {
      const both = [
        { name: "tcp", port: 53, protocol: "TCP" },
        { name: "udp", port: 53, protocol: "UDP" },
      ];
      const [first, second] = specOf(await made({ type: "NodePort", ports: both })).ports ?? [];
      expect(first?.nodePort).toBeGreaterThanOrEqual(30_000);
      expect(first?.nodePort).toBe(second?.nodePort);
      const again = await post({ type: "NodePort", ports: [{ port: 80, nodePort: first?.nodePort }] });
      expect(refusal(again)).toEqual(refused(422, "Invalid", "spec.ports[0].nodePort FieldValueInvalid"));
      const outside = await post({ type: "NodePort", ports: [{ port: 80, nodePort: 80 }] });
      expect(refusal(outside)).toEqual(refused(422, "Invalid", "spec.ports[0].nodePort FieldValueInvalid"));
    });

    it("services.no-node-ports: none where a balancer can do without", async () => {
      const { spec } = await made({ type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports });
      expect(spec).toMatchObject({ ports: [{ port: 80, targetPort: 80, protocol: "TCP" }] });
      expect((spec as Spec).ports?.[0]).not.toHaveProperty("nodePort");
    });

    it("services.health-check: a port to ask nodes on, for as long as traffic stays on them", async () => {
      const service = await made({ type: "LoadBalancer", externalTrafficPolicy: "Local", ports });
      const { healthCheckNodePort } = specOf(service);
      expect(healthCheckNodePort).toBeGreaterThanOrEqual(30_000);
      const { name } = service.metadata;
      const other = await stage().admin.patch(services(name), { spec: { healthCheckNodePort: 32_767 } });
      expect(refusal(other)).toEqual(refused(422, "Invalid", "spec.healthCheckNodePort FieldValueForbidden"));
      const kept = await stage().admin.put(services(name), {
        metadata: { name },
        spec: { type: "LoadBalancer", externalTrafficPolicy: "Local", ports },
      });
      expect(specOf(kept.body).healthCheckNodePort).toBe(healthCheckNodePort);
      expect(specOf(await changed(service, { externalTrafficPolicy: "Cluster" }))).not.toHaveProperty(
        "healthCheckNodePort",
      );
    });
  });

  describe("what they keep", () => {
    it("services.update-keeps: addresses and ports that an update does not mention", async () => {
      const named = [
        { name: "a", port: 80 },
        { name: "b", port: 81 },
      ];
      const service = await made({ type: "NodePort", ports: named });
      const { name } = service.metadata;
      const before = specOf(service);
      const { body } = await stage().admin.put(services(name), {
        metadata: { name },
        spec: {
          type: "NodePort",
          ports: [
            { name: "b", port: 8181 },
            { name: "a", port: 80 },
          ],
        },
      });
      expect(body.spec).toMatchObject({
        clusterIP: before.clusterIP,
        clusterIPs: before.clusterIPs,
        ports: [
          { name: "b", port: 8181, nodePort: before.ports?.[1]?.nodePort },
          { name: "a", port: 80, nodePort: before.ports?.[0]?.nodePort },
        ],
      });
    });

    it("services.address-for-life: never another address, nor none", async () => {
      const { metadata, spec } = await made({ ports });
      const change = (to: object) => stage().admin.patch(services(metadata.name), { spec: to });
      const moved = refused(422, "Invalid", "spec.clusterIPs[0] FieldValueInvalid");
      expect(refusal(await change({ clusterIP: "10.96.250.250", clusterIPs: ["10.96.250.250"] }))).toEqual(moved);
      expect(refusal(await change({ clusterIP: "None", clusterIPs: ["None"] }))).toEqual(moved);
      const kept = await change({ clusterIP: null, clusterIPs: null });
      expect(specOf(kept.body).clusterIP).toBe((spec as Spec).clusterIP);
    });

    it("services.to-external-name: nothing of an address when they become a mere name, and a new one after", async () => {
      const service = await made({ ports, selector: { app: "a" } });
      const named = await changed(service, { type: "ExternalName", externalName: "example.com" });
      expect(named.spec).toEqual({
        type: "ExternalName",
        externalName: "example.com",
        sessionAffinity: "None",
        selector: { app: "a" },
        ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
      });
      const back = await changed(service, { type: "ClusterIP", externalName: null });
      expect(back.spec).toMatchObject({
        type: "ClusterIP",
        clusterIP: expect.stringMatching(/^10\.96\./),
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        internalTrafficPolicy: "Cluster",
      });
    });

    it("services.from-external-name: ports on the nodes when a mere name becomes reachable there", async () => {
      const service = await made({ type: "ExternalName", externalName: "example.com" });
      const { spec } = await changed(service, { type: "NodePort", externalName: null, ports });
      expect(spec).toMatchObject({
        clusterIP: expect.stringMatching(/^10\.96\./),
        externalTrafficPolicy: "Cluster",
        ports: [{ nodePort: expect.any(Number) }],
      });
    });

    it("services.from-node-port: no ports on the nodes when they are not reached there any longer", async () => {
      const service = await made({ type: "NodePort", ports });
      const { nodePort } = specOf(service).ports?.[0] ?? {};
      const plain = specOf(await changed(service, { type: "ClusterIP" }));
      expect(plain.ports).toEqual([{ port: 80, protocol: "TCP", targetPort: 80 }]);
      expect(plain).not.toHaveProperty("externalTrafficPolicy");
      expect(plain.clusterIP).toBe(specOf(service).clusterIP);
      expect(specOf(await made({ type: "NodePort", ports: [{ port: 80, nodePort }] })).ports).toMatchObject([
        { nodePort },
      ]);
    });

    it("services.from-load-balancer: nothing of a balancer when they need none", async () => {
      const service = await made({ type: "LoadBalancer", loadBalancerClass: "example.com/own", ports });
      const { name } = service.metadata;
      const status = await stage().admin.patch(`${services(name)}/status`, {
        status: { loadBalancer: { ingress: [{ ip: "192.0.2.9" }] } },
      });
      expect(status.body.status).toEqual({ loadBalancer: { ingress: [{ ip: "192.0.2.9", ipMode: "VIP" }] } });
      const other = await stage().admin.patch(services(name), { spec: { loadBalancerClass: "example.com/other" } });
      expect(refusal(other)).toEqual(refused(422, "Invalid", "spec.loadBalancerClass FieldValueInvalid"));

      const plain = await changed(service, { type: "ClusterIP" });
      expect(plain.status).toEqual({ loadBalancer: {} });
      for (const field of ["loadBalancerClass", "allocateLoadBalancerNodePorts"]) {
        expect(plain.spec).not.toHaveProperty(field);
      }
    });

    it("services.affinity: no settings of an affinity that they no longer have", async () => {
      const service = await made({ ports, sessionAffinity: "ClientIP" });
      expect((await changed(service, { sessionAffinity: "None" })).spec).not.toHaveProperty("sessionAffinityConfig");
    });
  });

  it.each([
    ["a status without a balancer", { ports }, { ingress: [{ ip: "192.0.2.1" }] }, "FieldValueForbidden", ""],
    [
      "a mode without an address",
      undefined,
      { ingress: [{ hostname: "a.b", ipMode: "VIP" }] },
      "FieldValueForbidden",
      "[0].ipMode",
    ],
    ["an address that is none", undefined, { ingress: [{ ip: "here" }] }, "FieldValueInvalid", "[0].ip"],
  ])("services.status-refusals: refuses %s", async (_, spec, loadBalancer, reason, path) => {
    const { metadata } = await made(spec ?? { type: "LoadBalancer", loadBalancerClass: "example.com/own", ports });
    const reply = await stage().admin.patch(`${services(metadata.name)}/status`, { status: { loadBalancer } });
    expect(refusal(reply)).toEqual(refused(422, "Invalid", `status.loadBalancer.ingress${path} ${reason}`));
  });

  it.each([
    ["no ports", {}, ["spec.ports FieldValueRequired"]],
    ["an unknown type", { ports, type: "Odd" }, ["spec.type FieldValueNotSupported"]],
    ["a name without one", { type: "ExternalName" }, ["spec.externalName FieldValueRequired"]],
    [
      "a name with an address",
      { type: "ExternalName", externalName: "a.b", clusterIP: "10.96.3.3" },
      ["spec.clusterIPs FieldValueForbidden"],
    ],
    ["addresses in the plural only", { ports, clusterIPs: ["10.96.3.4"] }, ["spec.clusterIPs FieldValueInvalid"]],
    ["an address that is none", { ports, clusterIP: "here" }, ["spec.clusterIPs[0] FieldValueInvalid"]],
    ["an address from elsewhere", { ports, clusterIP: "192.0.2.1" }, ["spec.clusterIPs FieldValueInvalid"]],
    ["a family that is not here", { ports, ipFamilies: ["IPv6"] }, ["spec.ipFamilies[0] FieldValueInvalid"]],
    ["two families", { ports, ipFamilyPolicy: "RequireDualStack" }, ["spec.ipFamilyPolicy FieldValueInvalid"]],
    [
      "a node port nobody comes to",
      { ports: [{ port: 80, nodePort: 30_001 }] },
      ["spec.ports[0].nodePort FieldValueForbidden"],
    ],
    [
      "a headless one on every node",
      { ports, type: "NodePort", clusterIP: "None" },
      ["spec.clusterIPs[0] FieldValueInvalid"],
    ],
    [
      "what only balancers have",
      { ports, allocateLoadBalancerNodePorts: true, loadBalancerClass: "a/b", healthCheckNodePort: 30_000 },
      [
        "spec.allocateLoadBalancerNodePorts FieldValueForbidden",
        "spec.healthCheckNodePort FieldValueInvalid",
        "spec.loadBalancerClass FieldValueForbidden",
      ],
    ],
    [
      "policies that mean nothing",
      { ports, externalTrafficPolicy: "Local", internalTrafficPolicy: "Odd", trafficDistribution: "Odd" },
      [
        "spec.externalTrafficPolicy FieldValueInvalid",
        "spec.internalTrafficPolicy FieldValueNotSupported",
        "spec.trafficDistribution FieldValueNotSupported",
      ],
    ],
    [
      "an affinity without time",
      { ports, sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } },
      ["spec.sessionAffinityConfig.clientIP.timeoutSeconds FieldValueInvalid"],
    ],
    [
      "addresses that nobody can reach",
      { ports, externalIPs: ["here", "127.0.0.1"] },
      ["spec.externalIPs[0] FieldValueInvalid", "spec.externalIPs[1] FieldValueInvalid"],
    ],
    [
      "ports that make no sense",
      {
        ports: [
          { port: 0, targetPort: "-x" },
          { name: "B", port: 81, appProtocol: "a b" },
        ],
      },
      [
        "spec.ports[0].name FieldValueRequired",
        "spec.ports[0].port FieldValueInvalid",
        "spec.ports[0].targetPort FieldValueInvalid",
        "spec.ports[1].appProtocol FieldValueInvalid",
        "spec.ports[1].name FieldValueInvalid",
      ],
    ],
    ["a selector that is none", { ports, selector: { "a b": "c" } }, ["spec.selector FieldValueInvalid"]],
  ])("services.refusals: refuses %s", async (_, spec, causes) => {
    expect(refusal(await post(spec))).toEqual(refused(422, "Invalid", ...causes));
  });

  describe("the addresses of the cluster", () => {
    const ranges = (name?: string) => inGroup("networking.k8s.io", "v1", "servicecidrs", undefined, name);
    const addresses = (name?: string) => inGroup("networking.k8s.io", "v1", "ipaddresses", undefined, name);

    it("services.ranges: are in blocks, of which one is there from the start", async () => {
      await eventually(async () => {
        const { body } = await stage().admin.get(ranges("kubernetes"));
        expect(body).toMatchObject({
          spec: { cidrs: ["10.96.0.0/16"] },
          metadata: { finalizers: ["networking.k8s.io/service-cidr-finalizer"] },
          status: { conditions: [{ type: "Ready", status: "True" }] },
        });
      });
      const moved = await stage().admin.patch(ranges("kubernetes"), { spec: { cidrs: ["10.97.0.0/16"] } });
      expect(refusal(moved)).toEqual(refused(422, "Invalid", "spec.cidrs[0] FieldValueInvalid"));
    });

    it("services.more-ranges: are also in blocks that are added, until nobody has one of them", {
      timeout: 60_000,
    }, async () => {
      const { body: range } = await stage().admin.post(ranges(), {
        metadata: { generateName: "suite-" },
        spec: { cidrs: ["203.0.113.0/28"] },
      });
      const { name } = range.metadata;
      const conditionsOf = async () =>
        ((await stage().admin.get(ranges(name))).body.status as { conditions?: object[] } | undefined)?.conditions;
      await eventually(async () => expect(await conditionsOf()).toMatchObject([{ type: "Ready", status: "True" }]));
      // Servers learn of a new block a moment after it is called ready.
      const service = await eventually(() => made({ ports, clusterIP: "203.0.113.5" }));

      await stage().admin.delete(ranges(name));
      await eventually(async () =>
        expect(await conditionsOf()).toMatchObject([{ type: "Ready", status: "False", reason: "Terminating" }]),
      );
      await stage().admin.delete(services(service.metadata.name));
      await eventually(async () => expect((await stage().admin.get(ranges(name))).code).toBe(404));
    });

    it("services.addresses: are written down with whom they belong to", async () => {
      const { metadata, spec } = await made({ ports });
      const { clusterIP = "" } = spec as Spec;
      await eventually(async () =>
        expect((await stage().admin.get(addresses(clusterIP))).body).toMatchObject({
          metadata: {
            labels: {
              "ipaddress.kubernetes.io/ip-family": "IPv4",
              "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
            },
          },
          spec: { parentRef: { resource: "services", namespace: space, name: metadata.name } },
        }),
      );
      await stage().admin.delete(services(metadata.name));
      await eventually(async () => expect((await stage().admin.get(addresses(clusterIP))).code).toBe(404));
    });

    it("services.foreign-addresses: are not given to a Service when something else has them", async () => {
      const parentRef = { group: "example.com", resource: "things", namespace: space, name: "mine" };
      const name = "10.96.200.200";
      expect((await stage().admin.post(addresses(), { metadata: { name }, spec: { parentRef } })).code).toBe(201);
      const taken = await post({ ports, clusterIP: name });
      expect(refusal(taken)).toEqual(refused(422, "Invalid", "spec.clusterIPs FieldValueInvalid"));
      const other = await stage().admin.patch(addresses(name), { spec: { parentRef: { ...parentRef, name: "x" } } });
      expect(refusal(other)).toEqual(refused(422, "Invalid", "spec.parentRef FieldValueInvalid"));
      expect((await stage().admin.delete(addresses(name))).code).toBe(200);
    });

    it.each([
      [
        "a name that is no address",
        "here",
        { parentRef: { resource: "a", name: "b" } },
        "metadata.name FieldValueInvalid",
      ],
      ["nobody they belong to", "192.0.2.1", {}, "spec.parentRef FieldValueRequired"],
      ["a nameless owner", "192.0.2.1", { parentRef: { resource: "a" } }, "spec.parentRef.name FieldValueRequired"],
    ])("services.address-refusals: are refused with %s", async (_, name, spec, cause) => {
      expect(refusal(await stage().admin.post(addresses(), { metadata: { name }, spec }))).toEqual(
        refused(422, "Invalid", cause),
      );
    });

    it.each([
      ["none", { cidrs: [] }, "spec.cidrs FieldValueRequired"],
      ["one that is none", { cidrs: ["here"] }, "spec.cidrs[0] FieldValueInvalid"],
      ["one with a host in it", { cidrs: ["10.1.2.3/16"] }, "spec.cidrs[0] FieldValueInvalid"],
      ["two of one family", { cidrs: ["10.1.0.0/16", "10.2.0.0/16"] }, "spec.cidrs FieldValueInvalid"],
    ])("services.range-refusals: are refused in blocks: %s", async (_, spec, cause) => {
      const reply = await stage().admin.post(ranges(), { metadata: { generateName: "bad-" }, spec });
      expect(refusal(reply)).toEqual(refused(422, "Invalid", cause));
    });
  });
}
