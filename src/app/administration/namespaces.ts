/** Removing a namespace, unless somebody else has something in it. */
import { Namespace } from "#api/core";
import { type DynamicObject, type Kind, kind } from "#api/meta";
import { type Client, isForbidden, isNotFound } from "#kube";
import { isObject, parseJson } from "#lib/json";
import { find, remove } from "./changes.ts";
import type { Change, Task } from "./task.ts";

/** What came about by itself, or is of no use without what it tells of. */
const PASSING: ReadonlySet<string> = new Set(["Event", "Lease", "Endpoints", "EndpointSlice", "PodMetrics"]);

/** What every namespace has. */
const INBORN: ReadonlySet<string> = new Set([
  "ServiceAccount/default",
  "ConfigMap/kube-root-ca.crt",
  "ConfigMap/openshift-service-ca.crt",
]);

type IsOurs = (object: DynamicObject) => boolean;

interface NamespaceEnd {
  readonly change?: Change;
  /** `ConfigMap x`: what others have there, why it stays. */
  readonly foreign: readonly string[];
}

/** Removes the namespace and waits until it is gone. What `isOurs` does not count as somebody else's. */
export async function removeNamespace(task: Task, name: string, isOurs: IsOurs): Promise<NamespaceEnd> {
  if (!(await find(task.client, Namespace, name))) return { foreign: [] };
  const foreign = await foreignIn(task.client, name, isOurs);
  if (foreign.length > 0) return { foreign };
  const change = await remove(task, Namespace, name, holdsNamespace);
  return { ...(change && { change }), foreign: [] };
}

/** What a namespace says of itself that will not go away by waiting. */
const HOLDING: ReadonlySet<string> = new Set(["NamespaceFinalizersRemaining", "NamespaceDeletionDiscoveryFailure"]);

function holdsNamespace(namespace: Namespace): string {
  const { conditions = [] } = (namespace.status ?? {}) as {
    conditions?: { type: string; status: string; message?: string }[];
  };
  const why = conditions.filter(({ type, status }) => status === "True" && HOLDING.has(type));
  return why.map(({ message = "" }) => message).join("; ") || "what is in it is being removed";
}

/** Whoever cannot look cannot know that nothing is there: what could not be read counts as somebody's. */
async function foreignIn(client: Client, namespace: string, isOurs: IsOurs): Promise<string[]> {
  const { kinds, unread } = await namespacedKinds(client);
  const found = await Promise.all(
    kinds.map(async (each) => {
      try {
        const { items } = await client.list(each, { namespace, metadataOnly: true });
        return items
          .filter(({ metadata }) => isSomebodys(each, metadata.name, metadata.ownerReferences ?? []))
          .filter((object) => !isOurs({ ...object, kind: each.kind }))
          .map(({ metadata }) => `${each.kind} ${metadata.name}`);
      } catch (error) {
        if (isNotFound(error)) return []; // the kind has just gone
        if (isForbidden(error)) return [`${each.plural}, which you may not list`];
        throw error;
      }
    }),
  );
  return [...new Set([...found.flat(), ...unread])].sort();
}

/** What belongs to another object goes with it, and counts with it. */
function isSomebodys({ kind: name }: Kind, object: string, owners: readonly unknown[]): boolean {
  return !PASSING.has(name) && !INBORN.has(`${name}/${object}`) && owners.length === 0;
}

/** The kinds whose objects can be listed and deleted, each in one version; and the groups that do not answer. */
async function namespacedKinds(client: Client): Promise<{ kinds: Kind[]; unread: string[] }> {
  const versions = listIn(parseJson(await client.raw("/apis")), "groups").flatMap((group) => {
    const preferred = isObject(group.preferredVersion) ? group.preferredVersion.groupVersion : undefined;
    return typeof preferred === "string" ? [preferred] : [];
  });
  const unread: string[] = [];
  const lists = await Promise.all(
    ["v1", ...versions].map(async (version) => {
      try {
        return kindsIn(version, parseJson(await client.raw(pathOf(version))));
      } catch (error) {
        if (!isNotFound(error)) unread.push(`objects of ${version}, which does not answer`);
        return [];
      }
    }),
  );
  return { kinds: lists.flat(), unread };
}

function pathOf(groupVersion: string): string {
  return groupVersion.includes("/") ? `/apis/${groupVersion}` : `/api/${groupVersion}`;
}

function kindsIn(groupVersion: string, list: unknown): Kind[] {
  const [version = "", group = ""] = groupVersion.split("/").reverse();
  return listIn(list, "resources").flatMap(({ name, kind: kindName, namespaced, verbs }) => {
    if (typeof name !== "string" || typeof kindName !== "string" || namespaced !== true || name.includes("/"))
      return [];
    if (!Array.isArray(verbs) || !verbs.includes("list") || !verbs.includes("delete")) return [];
    return [kind({ group, version, kind: kindName, plural: name, namespaced: true })];
  });
}

function listIn(value: unknown, field: string): Record<string, unknown>[] {
  const list = isObject(value) ? value[field] : undefined;
  return Array.isArray(list) ? list.filter(isObject) : [];
}
