/**
 * An agent that stops, and one of the other make that goes on in its place: with the same identity, on the same records.
 * Nothing is deleted, made anew or fought over, in either direction and back.
 */
import { expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { ConfigMap, Secret, Service, ServiceAccount } from "#api/core";
import { type DynamicObject, type Kind, type KubeObject, kind } from "#api/meta";
import { ClusterRole, Role, RoleBinding } from "#api/rbac";
import type { ManifestConfig } from "#api/work";
import { configMap, gadgetDefinition, type Spec } from "../suites/work/stage.ts";
import { eventually } from "../support/eventually.ts";
import type { FleetCluster, Maker } from "./work-fleet.ts";
import { configs } from "./work-served.ts";

const NAMESPACE = "exchanged";
const GROUP = "exchanged.example.com";
const Gadget = kind({ group: GROUP, version: "v1", kind: "Gadget", plural: "gadgets", namespaced: true });
const RBAC = "rbac.authorization.k8s.io";

function object(apiVersion: string, kindName: string, name: string, more: object): DynamicObject {
  return { apiVersion, kind: kindName, metadata: { name, namespace: NAMESPACE }, ...more };
}

const MANIFESTS: readonly DynamicObject[] = [
  configMap(NAMESPACE, "plain", { k: "1" }),
  configMap(NAMESPACE, "leaving"),
  configMap(NAMESPACE, "server-side"),
  configMap(NAMESPACE, "create-only"),
  configMap(NAMESPACE, "orphan"),
  object("v1", "Secret", "secret", { stringData: { a: "b" } }),
  object("v1", "ServiceAccount", "account", {}),
  object("v1", "Service", "service", { spec: { selector: { app: "web" }, ports: [{ port: 80 }] } }),
  object(`${RBAC}/v1`, "Role", "role", { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] }),
  object(`${RBAC}/v1`, "RoleBinding", "binding", {
    roleRef: { apiGroup: RBAC, kind: "Role", name: "role" },
    subjects: [{ kind: "ServiceAccount", name: "account", namespace: NAMESPACE }],
  }),
  { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name: NAMESPACE }, rules: [] } as DynamicObject,
  object("apps/v1", "Deployment", "web", {
    spec: {
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "main", image: "busybox" }] },
      },
    },
  }),
  gadgetDefinition(GROUP),
  object(`${GROUP}/v1`, "Gadget", "one", { spec: { size: 1 } }),
];

const OBJECTS: readonly (readonly [Kind<KubeObject>, string])[] = [
  ...["plain", "server-side", "create-only", "orphan"].map(
    (name) => [ConfigMap as Kind<KubeObject>, `${NAMESPACE}/${name}`] as const,
  ),
  [Secret as Kind<KubeObject>, `${NAMESPACE}/secret`],
  [ServiceAccount as Kind<KubeObject>, `${NAMESPACE}/account`],
  [Service as Kind<KubeObject>, `${NAMESPACE}/service`],
  [Role as Kind<KubeObject>, `${NAMESPACE}/role`],
  [RoleBinding as Kind<KubeObject>, `${NAMESPACE}/binding`],
  [ClusterRole as Kind<KubeObject>, NAMESPACE],
  [Deployment as Kind<KubeObject>, `${NAMESPACE}/web`],
  [CustomResourceDefinition as Kind<KubeObject>, `gadgets.${GROUP}`],
  [Gadget as Kind<KubeObject>, `${NAMESPACE}/one`],
];

const manifestConfigs: ManifestConfig[] = [
  configs(NAMESPACE, "server-side", { type: "ServerSideApply" }),
  configs(NAMESPACE, "create-only", { type: "CreateOnly" }),
];
const orphaningRules = [{ group: "", resource: "configmaps", namespace: NAMESPACE, name: "orphan" }];
const SPEC: Spec = {
  manifestConfigs,
  deleteOption: { propagationPolicy: "SelectivelyOrphan", selectivelyOrphans: { orphaningRules } },
};
const WORK = "exchanged";

export function exchangeCases({ theirs, ours }: { theirs(): FleetCluster; ours(): FleetCluster }): void {
  const both = [
    ["upstream's", "our", theirs],
    ["our", "upstream's", ours],
  ] as const;

  it.each(both)("where %s agent was and %s comes finds everything, disturbs nothing and goes on", async (...story) => {
    const [first, second, cluster] = story;
    const at = cluster();
    await at.namespace(NAMESPACE);
    await at.work(WORK, MANIFESTS, SPEC);
    await at.untilReported(WORK, { applied: "True", available: "True" });
    const before = await states(at);
    const record = await at.record(WORK);

    await exchange(at, second);
    expect(await states(at)).toEqual(before);
    expect((await at.record(WORK)).metadata.uid).toBe(record.metadata.uid);
    expect(names(await at.record(WORK))).toEqual(names(record));

    const [plain, , ...others] = MANIFESTS;
    if (!plain) throw new Error("there is nothing to edit");
    await at.edit(WORK, { workload: { manifests: [{ ...plain, data: { k: "2" } }, ...others] } });
    await at.untilReported(WORK, { applied: "True" });
    expect(await at.dataOf(`${NAMESPACE}/plain`)).toEqual({ k: "2" });
    await eventually(async () => expect(await at.exists(ConfigMap, `${NAMESPACE}/leaving`)).toBe(false));

    const edited = await states(at);
    await exchange(at, first);
    expect(await states(at)).toEqual(edited);
    expect(edited.map(({ uid }) => uid)).toEqual(before.map(({ uid }) => uid));

    await at.delete(WORK);
    for (const [objectKind, key] of OBJECTS) {
      expect(await at.exists(objectKind, key), key).toBe(key === `${NAMESPACE}/orphan`);
    }
    await expect(at.record(WORK)).rejects.toThrow("there is no AppliedManifestWork");
  });
}

/** Ends when the other agent has looked at everything, and nobody writes any more. */
async function exchange(at: FleetCluster, maker: Maker): Promise<void> {
  await at.serveWith(maker);
  await round(at);
  // Whoever comes may write once what it has not written itself: that changes nothing but who answers for it.
  const quiet = await versions(at);
  await round(at);
  expect(await versions(at)).toEqual(quiet);
}

/** The agent is busy with another work meanwhile: whatever it has to do for those that it knows it has done before. */
async function round(at: FleetCluster): Promise<void> {
  const marker = `marker-${Math.random().toString(36).slice(2)}`;
  await at.work(marker, [configMap(NAMESPACE, marker)]);
  await at.untilReported(marker, { applied: "True", available: "True" });
  await at.untilReported(WORK, { applied: "True", available: "True" });
  await at.delete(marker);
}

interface State {
  readonly key: string;
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  readonly content: unknown;
}

/** In which agents and controllers note for themselves what they have done. */
const NOTES = /^(hash\.apply\.capstan\.dev|operator\.openshift\.io|deployment\.kubernetes\.io)\//;

async function states(at: FleetCluster): Promise<State[]> {
  return Promise.all(
    OBJECTS.map(async ([objectKind, key]) => {
      const { metadata, status: _, ...content } = (await at.spoke.client.get(objectKind, key)) as DynamicObject;
      const { uid, generation, labels, annotations = {}, finalizers, ownerReferences } = metadata;
      const wished = Object.entries(annotations).filter(([name]) => !NOTES.test(name));
      return { key, uid, generation, content: { ...content, labels, finalizers, ownerReferences, wished } };
    }),
  );
}

/** Of what nobody but the agent writes. */
async function versions(at: FleetCluster): Promise<Record<string, string | undefined>> {
  const quiet = OBJECTS.filter(([{ kind: name }]) => name !== "Deployment" && name !== "CustomResourceDefinition");
  const found = quiet.map(async ([objectKind, key]) => {
    const { metadata } = await at.spoke.client.get(objectKind, key);
    return [key, metadata.resourceVersion] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}

function names({
  status,
}: {
  status?: { appliedResources?: readonly { resource: string; name: string }[] };
}): string[] {
  return (status?.appliedResources ?? []).map(({ resource, name }) => `${resource}/${name}`);
}
