/** What the cases of the work suite share: a hub, a spoke, an agent between them with the rights that it has in life, and works. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { CustomResourceDefinition, DefinitionCondition } from "#api/apiextensions";
import { CLUSTER_GROUP, ManagedCluster, managedClusterCrd } from "#api/cluster";
import { ConfigMap, Namespace, ServiceAccount } from "#api/core";
import type { Condition, DynamicObject, Key, Kind, KubeObject } from "#api/meta";
import { ClusterRole, ClusterRoleBinding, RBAC_GROUP, RoleBinding } from "#api/rbac";
import { AppliedManifestWork, appliedManifestWorkCrd, ManifestWork, manifestWorkCrd, WORK_GROUP } from "#api/work";
import { runWorkAgent } from "#features/work/agent";
import { type Client, connectionOf, createClient, isNotFound, kubeconfigFor } from "#kube";
import { systemClock } from "#lib/clock";
import { findCondition, isTrue } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { connectedCluster } from "#runtime";
import { accountToken } from "../../support/account-token.ts";
import { eventually } from "../../support/eventually.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";

export const CLUSTER = "cluster1";

/** What the hub allows the work agent of every cluster, in the cluster's namespace. */
const AGENT_RULES = [
  { apiGroups: ["", "events.k8s.io"], resources: ["events"], verbs: ["create", "patch", "update"] },
  { apiGroups: [WORK_GROUP], resources: ["manifestworks"], verbs: ["get", "list", "watch", "update", "patch"] },
  { apiGroups: [WORK_GROUP], resources: ["manifestworks/status"], verbs: ["patch", "update"] },
];

/** And in the whole hub: the cluster's own ManagedCluster. */
const OWN_CLUSTER_RULES = [
  {
    apiGroups: [CLUSTER_GROUP],
    resources: ["managedclusters"],
    resourceNames: [CLUSTER],
    verbs: ["get", "list", "watch"],
  },
];

export type Spec = NonNullable<ManifestWork["spec"]>;

interface RunningAgent {
  /** How its requests are told apart in the audit logs. */
  readonly userAgent: string;
  stop(): Promise<void>;
}

export class WorkStage {
  readonly hub: TestServer;
  readonly spoke: TestServer;
  readonly #token: string;
  #agent: RunningAgent | undefined;
  #count = 0;

  private constructor(hub: TestServer, spoke: TestServer, token: string) {
    this.hub = hub;
    this.spoke = spoke;
    this.#token = token;
  }

  static async open(start: StartServer): Promise<WorkStage> {
    const [hub, spoke] = await Promise.all([start("hub"), start(CLUSTER, { nodes: { count: 1 } })]);
    await define(hub.client, manifestWorkCrd);
    await define(hub.client, managedClusterCrd);
    await hub.client.create(ManagedCluster, { metadata: { name: CLUSTER }, spec: { hubAcceptsClient: true } });
    await define(spoke.client, appliedManifestWorkCrd);
    const name = "open-cluster-management:managedcluster:work";
    await hub.client.create(Namespace, { metadata: { name: CLUSTER } });
    await hub.client.create(ServiceAccount, { metadata: { name: "agent", namespace: CLUSTER } });
    await hub.client.create(ClusterRole, { metadata: { name }, rules: AGENT_RULES });
    await hub.client.create(RoleBinding, {
      metadata: { name, namespace: CLUSTER },
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name: "agent", namespace: CLUSTER }],
    });
    const own = `open-cluster-management:managedcluster:${CLUSTER}`;
    await hub.client.create(ClusterRole, { metadata: { name: own }, rules: OWN_CLUSTER_RULES });
    await hub.client.create(ClusterRoleBinding, {
      metadata: { name: own },
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: own },
      subjects: [{ kind: "ServiceAccount", name: "agent", namespace: CLUSTER }],
    });
    const token = await accountToken(hub, `${CLUSTER}/agent`);
    const stage = new WorkStage(hub, spoke, token);
    await stage.startAgent();
    return stage;
  }

  async close(): Promise<void> {
    await this.stopAgent();
    await Promise.all([this.hub.close(), this.spoke.close()]);
  }

  get userAgent(): string {
    return this.#agent?.userAgent ?? "";
  }

  async startAgent({ evictionGrace }: { evictionGrace?: number } = {}): Promise<void> {
    const userAgent = `work-agent/${randomUUID()}`;
    const stop = new AbortController();
    const { url, authority } = this.hub;
    const identity = kubeconfigFor({ name: "hub", server: url, ca: authority, token: this.#token });
    const clock = systemClock;
    const [hub, spoke] = await Promise.all(
      [identity, this.spoke.kubeconfig].map(async (kubeconfig) =>
        createClient({ connection: await connectionOf(kubeconfig), userAgent }),
      ),
    );
    if (!hub || !spoke) throw new Error("no connection");
    const ended = runWorkAgent({
      hub: connectedCluster({ name: "hub", client: hub, clock, log: silentLog }),
      spoke: connectedCluster({ name: CLUSTER, client: spoke, clock, log: silentLog }),
      clusterName: CLUSTER,
      ...(evictionGrace !== undefined && { evictionGrace }),
      clock,
      log: silentLog,
      signal: stop.signal,
    });
    this.#agent = {
      userAgent,
      async stop() {
        stop.abort();
        await ended;
        hub.close();
        spoke.close();
      },
    };
  }

  async stopAgent(): Promise<void> {
    await this.#agent?.stop();
    this.#agent = undefined;
  }

  /** A namespace on the spoke that nobody else uses. */
  async namespace(): Promise<string> {
    const name = `work-${++this.#count}-${randomUUID().slice(0, 6)}`;
    await this.spoke.client.create(Namespace, { metadata: { name } });
    await eventually(() => this.spoke.client.get(ServiceAccount, `${name}/default`));
    return name;
  }

  /** A work with these manifests, which nobody else has. */
  async work(manifests: readonly DynamicObject[], spec: Spec = {}, name = `work-${randomUUID().slice(0, 8)}`) {
    await this.hub.client.create(ManifestWork, {
      metadata: { name, namespace: CLUSTER },
      spec: { workload: { manifests: [...manifests] }, ...spec },
    });
    return name;
  }

  get(name: string): Promise<ManifestWork> {
    return this.hub.client.get(ManifestWork, `${CLUSTER}/${name}`);
  }

  async edit(name: string, spec: unknown): Promise<ManifestWork> {
    return this.hub.client.patch(ManifestWork, `${CLUSTER}/${name}`, { spec }, { type: "merge" });
  }

  async delete(name: string): Promise<void> {
    await this.hub.client.delete(ManifestWork, `${CLUSTER}/${name}`);
  }

  async untilGone(name: string): Promise<void> {
    await eventually(() => expect(this.get(name)).rejects.toSatisfy(isNotFound));
  }

  /** Makes a work vanish as no user can: the agent's finalizer is overruled. */
  async forget(name: string): Promise<void> {
    const key = `${CLUSTER}/${name}`;
    await this.hub.client.patch(ManifestWork, key, { metadata: { finalizers: null } });
    await this.hub.client.delete(ManifestWork, key);
    await this.untilGone(name);
  }

  /** The work, once the agent has said of its present state that it is so. */
  untilReported(name: string, expected: { applied: string; available?: string }): Promise<ManifestWork> {
    return eventually(async () => {
      const work = await this.get(name);
      const applied = conditionOf(work, "Applied");
      expect(applied?.observedGeneration).toBe(work.metadata.generation);
      expect(applied?.status).toBe(expected.applied);
      if (expected.available) expect(conditionOf(work, "Available")?.status).toBe(expected.available);
      return work;
    });
  }

  async applied(name: string): Promise<AppliedManifestWork> {
    const { items } = await this.spoke.client.list(AppliedManifestWork);
    const found = items.find(({ spec }) => spec?.manifestWorkName === name);
    if (!found) throw new Error(`there is no AppliedManifestWork of ${name}`);
    return found;
  }

  async exists<T extends KubeObject>(kind: Kind<T>, key: Key<T>): Promise<boolean> {
    try {
      await this.spoke.client.get(kind, key);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async dataOf(key: string): Promise<Record<string, string> | undefined> {
    return (await this.spoke.client.get(ConfigMap, key)).data;
  }

  /** Rights on the spoke for a service account of this name in the namespace. */
  async account(namespace: string, name: string, rules: ClusterRole["rules"]): Promise<void> {
    const { client } = this.spoke;
    await client.create(ServiceAccount, { metadata: { name, namespace } });
    const role = `${namespace}-${name}`;
    await client.create(ClusterRole, { metadata: { name: role }, ...(rules && { rules }) });
    await client.create(ClusterRoleBinding, {
      metadata: { name: role },
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    });
  }
}

async function define(client: Client, definition: CustomResourceDefinition): Promise<void> {
  await client.create(CustomResourceDefinition, definition);
  await eventually(async () => {
    const { status } = await client.get(CustomResourceDefinition, definition.metadata.name);
    expect(isTrue(status?.conditions, DefinitionCondition.Established)).toBe(true);
  });
}

export function conditionOf({ status }: ManifestWork, type: string): Condition | undefined {
  return findCondition(status?.conditions, type);
}

/** What the work says of one of its manifests, of this type. */
export function saidOf(work: ManifestWork, type: string, ordinal = 0): Condition | undefined {
  return findCondition(manifestOf(work, ordinal).conditions, type);
}

/** All that the work says of one of its manifests. */
export function manifestOf({ status }: ManifestWork, ordinal = 0) {
  const entry = status?.resourceStatus?.manifests?.find(({ resourceMeta }) => resourceMeta.ordinal === ordinal);
  if (!entry) throw new Error(`nothing is said of manifest ${ordinal}`);
  return entry;
}

export function configMap(namespace: string, name: string, data: Record<string, string> = { k: "v" }): DynamicObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data };
}

/** The definition of Gadgets, a kind without rules in a group of its own. */
export function gadgetDefinition(group: string): DynamicObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `gadgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind: "Gadget", plural: "gadgets", singular: "gadget", listKind: "GadgetList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        },
      ],
    },
  };
}
