import { describe, expect, it } from "vitest";
import { context, created, find, shown, updated } from "./testing/drafts.ts";

const ports = [{ port: 80 }];

describe("services", () => {
  const resource = find("Service");

  it("are headless when they wish to be", () => {
    const { object, errors } = created(resource, { spec: { ports, clusterIP: "None" } });
    expect(errors).toEqual([]);
    expect(object.spec).toMatchObject({ clusterIP: "None", clusterIPs: ["None"], ipFamilyPolicy: "RequireDualStack" });
    const { object: selecting } = created(resource, { spec: { ports, clusterIP: "None", selector: { a: "b" } } });
    expect(selecting.spec).toMatchObject({ ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" });
  });

  it("have no address when they only give a name", () => {
    const { object, errors } = created(resource, { spec: { type: "ExternalName", externalName: "example.com" } });
    expect(errors).toEqual([]);
    expect(object.spec).toEqual({ type: "ExternalName", externalName: "example.com", sessionAffinity: "None" });
  });

  it("get a port on every node, wishes first", () => {
    const wished = [
      { port: 80, name: "a" },
      { port: 81, name: "b", nodePort: 30_000 },
    ];
    const { object } = created(resource, { spec: { type: "NodePort", ports: wished } });
    expect(object.spec).toMatchObject({
      ports: [{ nodePort: 30_001 }, { nodePort: 30_000 }],
      externalTrafficPolicy: "Cluster",
    });
  });

  it("keep their address and ports when an update does not mention them", () => {
    const { object } = created(resource, { spec: { type: "NodePort", ports, clusterIP: "10.96.0.9" } });
    const next = updated(resource, object, (draft) => {
      draft.spec = { type: "NodePort", ports: [{ port: 80 }, { port: 81, name: "b" }] };
    });
    expect(next.object.spec).toMatchObject({
      clusterIP: "10.96.0.9",
      clusterIPs: ["10.96.0.9"],
      ports: [{ nodePort: 30_000 }, { nodePort: 30_001 }],
    });
  });

  it("lose what another type has no use for, and keep the rest", () => {
    const { object } = created(resource, {
      spec: { type: "LoadBalancer", externalTrafficPolicy: "Local", ports, selector: { a: "b" } },
    });
    expect(object.spec).toMatchObject({ healthCheckNodePort: 30_001, allocateLoadBalancerNodePorts: true });
    object.status = { loadBalancer: { ingress: [{ ip: "127.0.0.9" }] } };
    const next = updated(resource, object, (draft) => {
      draft.spec = { ...(draft.spec as object), type: "ExternalName", externalName: "example.com" };
    });
    expect(next.errors).toEqual([]);
    expect(next.object.spec).toEqual({
      type: "ExternalName",
      externalName: "example.com",
      sessionAffinity: "None",
      selector: { a: "b" },
      ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
    });
    expect(next.object.status).toEqual({ loadBalancer: {} });
    expect(object.status).toEqual({ loadBalancer: { ingress: [{ ip: "127.0.0.9" }] } });
  });

  it("are refused a change of what a new type has no use for", () => {
    const { object } = created(resource, { spec: { type: "NodePort", ports } });
    const { errors } = updated(resource, object, (draft) => {
      draft.spec = { ...(draft.spec as object), type: "ClusterIP", ports: [{ port: 80, nodePort: 31_000 }] };
    });
    expect(shown(errors)).toEqual(["spec.ports[0].nodePort: Forbidden"]);
  });

  it("give up the second family with the policy that asked for it", () => {
    const { object } = created(resource, { spec: { clusterIP: "None" } });
    const single = updated(resource, object, (draft) => {
      draft.spec = { ...(draft.spec as object), ipFamilyPolicy: "SingleStack" };
    });
    expect(single.object.spec).toMatchObject({ ipFamilies: ["IPv4"] });
    expect(() =>
      updated(resource, object, (draft) => {
        draft.spec = { ...(draft.spec as object), ipFamilies: ["IPv4"] };
      }),
    ).toThrow("must be 'SingleStack' to release the secondary IP family");
  });

  it("warn of what is hardly meant", () => {
    const warnings: string[] = [];
    const { object } = created(resource, { spec: { ports } });
    object.spec = { ...(object.spec as object), externalName: "example.com", trafficDistribution: "PreferClose" };
    resource.strategy.prepareForUpdate(object, object, { ...context, warn: (text) => void warnings.push(text) });
    expect(warnings).toEqual([
      'spec.externalName is ignored when spec.type is not "ExternalName"',
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ]);
  });

  it("do not move to another address", () => {
    const { object } = created(resource, { spec: { ports, clusterIP: "10.96.0.9" } });
    const { errors } = updated(resource, object, (draft) => {
      draft.spec = { ports, clusterIP: "10.96.0.10", clusterIPs: ["10.96.0.10"] };
    });
    expect(shown(errors)).toEqual(["spec.clusterIPs[0]: Invalid"]);
  });

  it("are refused an address that is taken", () => {
    const addresses = {
      clusterIp: () => ({ refused: "provided IP is already allocated" }),
      nodePort: () => ({ value: 1 }),
    };
    const full = find("Service", "", { addresses });
    expect(() => created(full, { spec: { ports, clusterIP: "10.96.0.1" } })).toThrow(
      "failed to allocate IP 10.96.0.1: provided IP is already allocated",
    );
  });

  const rows: [why: string, spec: Record<string, unknown>, errors: string[]][] = [
    ["ports are needed", {}, ["spec.ports: Required"]],
    [
      "several ports have names",
      { ports: [{ port: 80 }, { port: 81 }] },
      ["spec.ports[0].name: Required", "spec.ports[1].name: Required"],
    ],
    [
      "names are unique",
      {
        ports: [
          { port: 80, name: "a" },
          { port: 81, name: "a" },
        ],
      },
      ["spec.ports[1].name: Duplicate"],
    ],
    [
      "ports are unique",
      {
        ports: [
          { port: 80, name: "a" },
          { port: 80, name: "b" },
        ],
      },
      ["spec.ports[1]: Duplicate"],
    ],
    ["ports have a range", { ports: [{ port: 0, targetPort: 80 }] }, ["spec.ports[0].port: Invalid"]],
    ["types are known", { ports, type: "Odd" }, ["spec.type: NotSupported"]],
    ["names are names", { type: "ExternalName" }, ["spec.externalName: Required"]],
  ];
  it.each(rows)("%s", (_, spec, errors) => {
    expect(shown(created(resource, { spec }).errors)).toEqual(errors);
  });
});
