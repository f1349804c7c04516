/** Who else has something in a namespace: the server is asked for everything that can be in one. */
import { type DynamicObject, type Kind, kind } from "#api/meta";
import { isKubeError, isNotFound } from "#kube";
import { isObject, parseJson } from "#lib/json";
import type { Cluster } from "#runtime";

/** An object in a namespace, by its metadata. */
export interface Stranger {
  readonly kind: Kind<DynamicObject>;
  readonly object: DynamicObject;
}

export interface StrangersOptions {
  readonly cluster: Cluster;
  readonly isOurs: (found: Stranger) => boolean;
  readonly signal: AbortSignal;
}

/** The namespaces of those given in which there is something of others, and what; one thing of each. */
export async function strangersIn(
  namespaces: ReadonlySet<string>,
  { cluster, isOurs, signal }: StrangersOptions,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const claim = (namespace: string, why: string) => {
    if (namespaces.has(namespace) && !found.has(namespace)) found.set(namespace, why);
  };
  const { kinds, unknown } = await namespacedKinds(cluster, signal);
  // What cannot be looked at may hold anything.
  for (const why of unknown) for (const each of namespaces) claim(each, why);
  for (const each of kinds) {
    if (found.size === namespaces.size) break;
    try {
      for await (const object of everyOne(cluster, each, signal)) {
        const { namespace = "", name } = object.metadata;
        if (!isAccompanying(each, object, kinds) && !isOurs({ kind: each, object }))
          claim(namespace, `${each.kind} ${name} is in it`);
      }
    } catch (error) {
      if (signal.aborted || !isKubeError(error)) throw error;
      const { message } = error;
      if (isNotFound(error)) continue; // it has gone since we asked
      for (const namespace of namespaces) claim(namespace, `${each.plural} cannot be listed: ${message}`);
    }
  }
  return found;
}

const PAGE = 500;

async function* everyOne(
  cluster: Cluster,
  of: Kind<DynamicObject>,
  signal: AbortSignal,
): AsyncGenerator<DynamicObject> {
  let token: string | undefined;
  do {
    const options = { metadataOnly: true, limit: PAGE, signal, ...(token && { continue: token }) };
    const page = await cluster.client.list(of, options);
    yield* page.items;
    token = page.metadata.continue;
  } while (token);
}

/** What every namespace has, and what comes and goes with other objects. */
function isAccompanying(
  { group, plural }: Kind<DynamicObject>,
  { metadata }: DynamicObject,
  kinds: readonly Kind<DynamicObject>[],
): boolean {
  // An owner in the same namespace counts itself.
  const hasNeighbour = (metadata.ownerReferences ?? []).some(({ apiVersion, kind: owner }) =>
    kinds.some((each) => each.kind === owner && each.group === groupOf(apiVersion)),
  );
  if (hasNeighbour) return true;
  if (plural === "events" && (group === "" || group === "events.k8s.io")) return true;
  if (group !== "") return false;
  return (
    (plural === "serviceaccounts" && metadata.name === "default") ||
    (plural === "configmaps" && metadata.name === "kube-root-ca.crt")
  );
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}

interface Kinds {
  readonly kinds: readonly Kind<DynamicObject>[];
  /** Groups of which the server does not say what is in them. */
  readonly unknown: readonly string[];
}

/** All kinds of which somebody could put objects into a namespace, each in one version. */
async function namespacedKinds(cluster: Cluster, signal: AbortSignal): Promise<Kinds> {
  const groups = listIn(parseJson(await cluster.client.raw("/apis", { signal })), "groups").flatMap((group) => {
    const preferred = isObject(group.preferredVersion) ? group.preferredVersion.groupVersion : undefined;
    return typeof preferred === "string" ? [preferred] : [];
  });
  const kinds: Kind<DynamicObject>[] = [];
  const unknown: string[] = [];
  for (const apiVersion of ["v1", ...groups]) {
    const path = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    try {
      kinds.push(...kindsIn(apiVersion, parseJson(await cluster.client.raw(path, { signal }))));
    } catch (error) {
      if (signal.aborted || !isKubeError(error)) throw error;
      if (!isNotFound(error)) unknown.push(`the server does not say what ${apiVersion} has`);
    }
  }
  return { kinds, unknown };
}

function kindsIn(apiVersion: string, answer: unknown): Kind<DynamicObject>[] {
  const [group = "", version = ""] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  return listIn(answer, "resources").flatMap(({ name, kind: word, namespaced, verbs }) => {
    const isObjectKind = typeof name === "string" && typeof word === "string" && namespaced === true;
    // What cannot be deleted is a view of something else, and a name with a slash a part of an object.
    const may = (verb: string) => Array.isArray(verbs) && verbs.includes(verb);
    if (!isObjectKind || name.includes("/") || !may("list") || !may("delete")) return [];
    return [kind<DynamicObject>({ group, version, kind: word, plural: name, namespaced: true })];
  });
}

function listIn(answer: unknown, field: string): Record<string, unknown>[] {
  const value = isObject(answer) ? answer[field] : undefined;
  return Array.isArray(value) ? value.filter(isObject) : [];
}
