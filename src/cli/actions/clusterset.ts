/** Makes, fills, lends and deletes sets of clusters. */
import {
  addManagedNamespaces,
  bindClusterSet,
  type Change,
  createClusterSet,
  deleteClusterSet,
  setClusters,
  type Task,
  unbindClusterSet,
} from "#app";
import type { TaskFlags } from "../administration-options.ts";
import type { BindingFlags, MembersFlags } from "../commands/clusterset.ts";
import { administer, sayDone, showPlan } from "./administration.ts";

export async function runCreate(name: string, flags: TaskFlags): Promise<void> {
  await administer(flags, async (task) => {
    const change = await createClusterSet(task, name);
    conclude(task, change, `Clusterset ${name} is ${change.action === "keep" ? "already " : ""}created`);
  });
}

export async function runDelete(name: string, flags: TaskFlags): Promise<void> {
  await administer(flags, async (task) =>
    conclude(task, await deleteClusterSet(task, name), `Clusterset ${name} is deleted`),
  );
}

export async function runBind(name: string, { namespace, ...flags }: BindingFlags): Promise<void> {
  await administer(flags, async (task) => {
    const change = await bindClusterSet(task, name, namespace);
    const already = change.action === "keep" ? "already " : "";
    conclude(task, change, `Clusterset ${name} is ${already}bound to Namespace ${namespace}`);
  });
}

export async function runUnbind(name: string, { namespace, ...flags }: BindingFlags): Promise<void> {
  await administer(flags, async (task) =>
    conclude(
      task,
      await unbindClusterSet(task, name, namespace),
      `Clusterset ${name} is unbound from Namespace ${namespace}`,
    ),
  );
}

export async function runSet(name: string, { clusters = [], namespaces = [], ...flags }: MembersFlags): Promise<void> {
  await administer(flags, async (task) => {
    const memberships = await setClusters(task, name, clusters);
    const managed = namespaces.length > 0 ? [await addManagedNamespaces(task, name, namespaces)] : [];
    if (task.dryRun) return showPlan([...memberships.map(({ change }) => change), ...managed]);
    for (const { cluster, from } of memberships) {
      const where = from === undefined || from === name ? "" : `, from ClusterSet ${from}`;
      sayDone(`Cluster ${cluster} is set${where} to Clusterset ${name}`);
    }
    for (const { note } of managed) sayDone(`Clusterset ${name} ${note ?? "manages these namespaces already"}`);
  });
}

function conclude(task: Task, change: Change, sentence: string): void {
  if (task.dryRun) showPlan([change]);
  else sayDone(sentence);
}
