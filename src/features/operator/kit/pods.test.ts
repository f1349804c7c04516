import { describe, expect, it } from "vitest";
import type { Deployment } from "#api/apps";
import { Node } from "#api/core";
import { fakeCluster } from "../../../../test/support/index.ts";
import { deployment } from "./deployment.ts";
import { imageFor } from "./images.ts";
import { handedOn } from "./labels.ts";
import { replicaChoice } from "./replicas.ts";
import { resourcesOf } from "./resources.ts";
import { generationsOf, isRolling, relatedResources } from "./status.ts";

const OPTIONS = {
  name: "web",
  namespace: "here",
  app: "web-app",
  container: "main",
  image: "capstan:1",
  args: ["hub"],
  serviceAccount: "web-sa",
  replicas: 2,
  hasReadiness: true,
};

describe("the Pods of a program", () => {
  it.each([
    [undefined, "own:1"],
    ["", "own:1"],
    ["quay.io/open-cluster-management/registration", "own:1"],
    ["quay.io/open-cluster-management/registration:v1.3.1", "own:1"],
    ["mirror.example/capstan:2", "mirror.example/capstan:2"],
    ["quay.io/open-cluster-management-fork/registration", "quay.io/open-cluster-management-fork/registration"],
  ])("wished as %s come from %s", (wished, image) => {
    expect(imageFor(wished, "own:1")).toBe(image);
  });

  it.each([
    [undefined, { requests: { cpu: "2m", memory: "16Mi" } }],
    [{ type: "Default" as const }, { requests: { cpu: "2m", memory: "16Mi" } }],
    [{ type: "BestEffort" as const }, {}],
    [{ type: "ResourceRequirement" as const, resourceRequirements: { limits: { cpu: 1 } } }, { limits: { cpu: 1 } }],
  ])("with %j ask for %j", (requirement, resources) => {
    expect(resourcesOf(requirement)).toEqual(resources);
  });

  it("have no privileges, and say whether they work where they can", () => {
    const wished = deployment(OPTIONS) as unknown as Deployment;
    const [container] = wished.spec.template.spec.containers;
    expect(container).toMatchObject({
      args: ["hub", "--metrics-address=:8000"],
      livenessProbe: { httpGet: { path: "/healthz", port: 8000 } },
      readinessProbe: { httpGet: { path: "/readyz", port: 8000 } },
      securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, privileged: false },
    });
    expect(wished.spec.template.spec).toMatchObject({ securityContext: { runAsNonRoot: true } });
    expect(wished.spec.selector.matchLabels).toEqual(wished.spec.template.metadata?.labels);

    const silent = deployment({ ...OPTIONS, hasReadiness: false }) as unknown as Deployment;
    expect(silent.spec.template.spec.containers[0]).toMatchObject({ args: ["hub"] });
    expect(silent.spec.template.spec.containers[0]).not.toHaveProperty("readinessProbe");
  });

  it("have what an object says of nodes, names and priorities, and nothing else where it is silent", () => {
    const { spec } = deployment(OPTIONS) as unknown as Deployment;
    for (const field of ["nodeSelector", "tolerations", "volumes", "priorityClassName", "hostAliases"]) {
      expect(spec.template.spec).not.toHaveProperty(field);
    }
    const hostAliases = [{ ip: "10.0.0.1", hostnames: ["hub"] }];
    const nodePlacement = { nodeSelector: { a: "b" }, tolerations: [{ key: "c" }] };
    const wished = deployment({ ...OPTIONS, nodePlacement, hostAliases, priorityClassName: "high" });
    expect((wished as unknown as Deployment).spec.template.spec).toMatchObject({
      ...nodePlacement,
      hostAliases,
      priorityClassName: "high",
    });
  });

  it.each([
    [[], 0, 1],
    [["node-role.kubernetes.io/master"], 0, 1],
    [["node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"], 0, 3],
    [["other", "other"], 0, 1],
    [["node-role.kubernetes.io/master"], 2, 2],
  ])("are as many as the control plane has nodes for: %j, asked %d, gives %d", async (labels, asked, count) => {
    const nodes = labels.map((label, at) => ({ metadata: { name: `n${at}`, labels: { [label]: "" } } }));
    const choice = replicaChoice({ cluster: fakeCluster([Node, ...nodes]), asked });
    const stop = new AbortController();
    for (const { cache } of choice.keyedBy(() => [])) {
      cache?.start(stop.signal);
      await cache?.whenSynced();
    }
    expect(choice.count()).toBe(count);
    stop.abort();
  });

  it("are rolling until all of them are the newest, and ready", () => {
    const at = (generation: number, status: object) =>
      ({ metadata: { name: "x", generation }, spec: { replicas: 2 }, status }) as unknown as Deployment;
    const all = { observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 2 };
    expect(isRolling(at(1, all))).toBe(false);
    expect(isRolling(at(2, all))).toBe(true);
    expect(isRolling(at(1, { ...all, readyReplicas: 1 }))).toBe(true);
    expect(isRolling(at(1, { ...all, replicas: 3 }))).toBe(true);
    expect(isRolling(at(1, { ...all, updatedReplicas: 1 }))).toBe(true);
  });
});

describe("what is told of objects", () => {
  it("names them by their plural", () => {
    const objects = [
      { apiVersion: "apps/v1", kind: "Deployment", metadata: { namespace: "a", name: "b" } },
      { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "c" } },
    ];
    expect(relatedResources(objects)).toEqual([
      { group: "apps", version: "v1", resource: "deployments", namespace: "a", name: "b" },
      { group: "rbac.authorization.k8s.io", version: "v1", resource: "clusterroles", name: "c" },
    ]);
    const deployments = [{ metadata: { namespace: "a", name: "b", generation: 7 } }] as unknown as Deployment[];
    expect(generationsOf(deployments)).toEqual([
      { group: "apps", version: "v1", resource: "deployments", namespace: "a", name: "b", lastGeneration: 7 },
    ]);
  });

  it("hands on labels, but none that tell Pods apart or that have a meaning of their own", () => {
    const labels = { app: "x", team: "a", "open-cluster-management.io/y": "z", application: "kept" };
    expect(handedOn(labels)).toEqual({ team: "a", application: "kept" });
    expect(handedOn(undefined)).toEqual({});
  });
});
