/** Taking a spoke out: its Klusterlet, and with the last one the operator. The hub keeps what it knows of the cluster. */
import { CustomResourceDefinition } from "#api/apiextensions";
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import { Namespace, Secret, ServiceAccount } from "#api/core";
import type { DynamicObject } from "#api/meta";
import {
  AGENT_NAMESPACE,
  Klusterlet,
  KlusterletMode,
  klusterletCrd,
  OPERATOR_NAMESPACE,
  OperatorCondition,
  OperatorLabel,
  OperatorName,
  OperatorSecret,
} from "#api/operator";
import { ClusterRole } from "#api/rbac";
import { AppliedManifestWork } from "#api/work";
import { klusterletInstallation } from "#features/operator/klusterlet";
import { type Client, isKubeError, KubeconfigError } from "#kube";
import { findCondition, setCondition } from "#lib/conditions";
import { UserError } from "../user-error.ts";
import { hubClient, kubeconfigIn, textIn } from "./agent-identity.ts";
import { find, listed, remove } from "./changes.ts";
import {
  holdsOf,
  isMadeByOperators,
  type Removal,
  removeByOperator,
  removeDefinition,
  removeInstalled,
  removeOperatorNamespace,
  removeOrExplain,
  sweepRights,
} from "./removal.ts";
import type { Change, Task } from "./task.ts";

export interface Unjoining {
  readonly clusterName: string;
  /** With the last Klusterlet the operator goes too. */
  readonly purgeOperator: boolean;
  /** Also where works are applied, whose objects then stay, and where the operator does not run. */
  readonly force: boolean;
}

/** Why a cluster is no longer available that said goodbye. */
export const UNJOINED = "ManagedClusterUnjoined";

/** The hub is told as a favour; nobody waits long for it. */
const PATIENCE_MS = 5_000;

const OPERATOR = `${OPERATOR_NAMESPACE}/${OperatorName.klusterlet}`;

/** Doing it again finishes what was interrupted. */
export async function unjoinCluster(task: Task, wish: Unjoining): Promise<Removal> {
  const { client } = task;
  const klusterlets = await listed(client, Klusterlet);
  const klusterlet = klusterlets.find(({ spec }) => spec?.clusterName === wish.clusterName);
  if (!klusterlet) await assertLeftover(client, klusterlets, wish.clusterName);
  const changes: Change[] = [];
  const remarks: string[] = [];
  const add = (removal: Removal) => {
    changes.push(...removal.changes);
    remarks.push(...removal.remarks);
  };
  if (klusterlet) add(await removeKlusterlet(task, klusterlet, wish));
  const others = klusterlets.filter((each) => each !== klusterlet);
  if (others.length > 0) {
    const names = others.map(({ spec, metadata }) => spec?.clusterName ?? metadata.name).join(", ");
    return { changes, remarks: [...remarks, `The operator stays, because it keeps the agents of ${names}.`] };
  }
  if (!wish.purgeOperator) return { changes, remarks };
  const installed = klusterletInstallation({ image: "" });
  add({ changes: await removeInstalled(task, installed), remarks: [] });
  add({ changes: await removeDefinition(task, klusterletCrd), remarks: [] });
  add(await removeOperatorNamespace(task, installed));
  return { changes, remarks };
}

/** Without a Klusterlet of this name there may still be an operator that an interrupted run has left. */
async function assertLeftover(client: Client, klusterlets: readonly Klusterlet[], name: string): Promise<void> {
  if (klusterlets.length > 0) {
    const names = klusterlets.map(({ spec, metadata }) => spec?.clusterName ?? metadata.name).sort();
    throw new UserError(
      `${client.server} has not joined as ${name}, but as ${names.join(", ")}; correct --cluster-name or --context`,
    );
  }
  const [definition, role] = await Promise.all([
    find(client, CustomResourceDefinition, klusterletCrd.metadata.name),
    find(client, ClusterRole, OperatorName.klusterlet),
  ]);
  if (definition || role) return;
  throw new UserError(
    `${client.server} has no Klusterlet: it has not joined as ${name}, or was taken out already; choose the spoke with --context or --kubeconfig`,
  );
}

async function removeKlusterlet(
  task: Task,
  klusterlet: Klusterlet,
  { clusterName, force }: Unjoining,
): Promise<Removal> {
  const { metadata, spec } = klusterlet;
  if (!force) await refuseWorks(task.client, klusterlet, clusterName);
  const agentNamespace =
    spec?.deployOption?.mode === KlusterletMode.hosted ? metadata.name : (spec?.namespace ?? AGENT_NAMESPACE);
  const sayGoodbye = await goodbye(task, `${agentNamespace}/${OperatorSecret.hub}`, clusterName);
  const { change, isForced } = await removeByOperator(task, Klusterlet, klusterlet, {
    deployment: OPERATOR,
    force,
    mend: `see why with \`kubectl describe deployment -n ${OPERATOR_NAMESPACE} ${OperatorName.klusterlet}\`, or remove what is left with --force`,
    holds: (object) => holdsOf(object, OperatorCondition.Applied),
  });
  const swept = isForced ? await sweep(task, metadata.name, agentNamespace) : { changes: [], remarks: [] };
  const namespace = await removeAgentNamespace(task, agentNamespace);
  const told = await sayGoodbye();
  return {
    changes: [...(change ? [change] : []), ...swept.changes, ...namespace.changes, ...told.changes],
    remarks: [...swept.remarks, ...namespace.remarks, ...told.remarks],
  };
}

/** What the operator would have removed, but for the namespace of the agents. */
async function sweep(task: Task, klusterlet: string, agentNamespace: string): Promise<Removal> {
  const labelSelector = `${OperatorLabel.createdByKlusterlet}=${klusterlet}`;
  const changes = await sweepRights(task, labelSelector);
  const remarks: string[] = [];
  for (const { metadata } of await listed(task.client, Namespace, { labelSelector })) {
    if (metadata.name === agentNamespace) continue;
    const removal = await removeOrExplain(task, metadata.name, isAgents);
    changes.push(...removal.changes);
    remarks.push(...removal.remarks);
  }
  return { changes, remarks };
}

/**
 * A last word to the hub, with the identity that the agent had: that nobody speaks for the cluster any more. Otherwise
 * the hub would take it for available until its lease has ended. It is said when the agents are gone, who would
 * contradict it.
 */
async function goodbye(task: Task, secretKey: string, name: string): Promise<() => Promise<Removal>> {
  const nothing = async () => ({ changes: [], remarks: [] });
  const secret = await find(task.client, Secret, secretKey);
  const config = secret && kubeconfigIn(secret);
  if (!secret || !config || textIn(secret, "tls.crt") === "") return nothing;
  const what = `ManagedCluster ${name}`;
  const note = "on the hub; it is no longer available";
  if (task.dryRun) return async () => ({ changes: [{ action: "change", what, note }], remarks: [] });
  return async () => {
    try {
      const hub = await hubClient(config, secret);
      try {
        return (await tell(hub, name)) ? { changes: [{ action: "change", what, note }], remarks: [] } : nothing();
      } finally {
        hub.close();
      }
    } catch (error) {
      if (!isKubeError(error) && !(error instanceof KubeconfigError)) throw error;
      return { changes: [], remarks: [`The hub could not be told (${error.message}); it will notice by itself.`] };
    }
  };
}

async function tell(hub: Client, name: string): Promise<boolean> {
  const { status } = await hub.get(ManagedCluster, name, { timeout: PATIENCE_MS });
  if (findCondition(status?.conditions, ClusterCondition.Available)?.status !== "True") return false;
  const left = {
    type: ClusterCondition.Available,
    status: "Unknown",
    reason: UNJOINED,
    message: "The cluster was taken out of the fleet on its own side.",
  } as const;
  const conditions = setCondition(status?.conditions ?? [], left, new Date());
  await hub.patch(ManagedCluster, name, { status: { conditions } }, { subresource: "status", timeout: PATIENCE_MS });
  return true;
}

/** What was applied for the hub would stay for ever, and nobody would know why it is there. */
async function refuseWorks(client: Client, { metadata }: Klusterlet, clusterName: string): Promise<void> {
  const works = (await listed(client, AppliedManifestWork)).filter(
    ({ spec }) => spec?.agentID === undefined || spec.agentID === metadata.uid,
  );
  if (works.length === 0) return;
  const names = works.map((work) => work.spec?.manifestWorkName ?? work.metadata.name).sort();
  const shown = names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  throw new UserError(
    `ManifestWork ${shown} of the hub ${works.length === 1 ? "is" : "are"} applied here; delete them on the hub first (\`kubectl delete manifestwork --all -n ${clusterName}\`), or leave their objects behind with --force`,
  );
}

/** The agents' own Secrets go in any case; the namespace only if nobody else has anything in it. */
async function removeAgentNamespace(task: Task, name: string): Promise<Removal> {
  const removal = await removeOrExplain(task, name, isAgents);
  if (removal.remarks.length === 0 || !(await find(task.client, Namespace, name))) return removal;
  const secrets = [OperatorSecret.bootstrap, OperatorSecret.hub, OperatorSecret.managed];
  const removed = await Promise.all(secrets.map((secret) => remove(task, Secret, `${name}/${secret}`)));
  return { ...removal, changes: [...removal.changes, ...removed.filter((change) => change !== undefined)] };
}

const OWN_SECRETS: ReadonlySet<string> = new Set([
  ...Object.values(OperatorSecret),
  `${OperatorSecret.managed}-registration`,
  `${OperatorSecret.managed}-work`,
  `${OperatorSecret.managed}-agent`,
]);

/** The account that the agent makes for those to whom access is granted. */
const ACCESS_ACCOUNT = "cluster-access";

function isAgents(object: DynamicObject): boolean {
  const { name } = object.metadata;
  if (object.kind === Secret.kind && OWN_SECRETS.has(name)) return true;
  return isMadeByOperators(object) || (object.kind === ServiceAccount.kind && name === ACCESS_ACCOUNT);
}
