/** From any object on a spoke back to the work that placed it: by its owners, and theirs. */
import { createHash } from "node:crypto";
import { Secret } from "#api/core";
import type { DynamicObject, Kind, OwnerReference } from "#api/meta";
import { AGENT_NAMESPACE, OperatorSecret } from "#api/operator";
import { AppliedManifestWork, type AppliedResource, WORK_GROUP } from "#api/work";
import { type Client, isForbidden, isNotFound, Kinds } from "#kube";
import { isObject, parseJson } from "#lib/json";
import { didYouMean } from "#lib/suggestion";
import { UserError } from "../user-error.ts";
import { kubeconfigIn, textIn } from "./agent-identity.ts";
import { listed } from "./changes.ts";

export interface Origin {
  /** The object, and its owners up to the one that the work placed. */
  readonly chain: readonly string[];
  readonly works: readonly {
    /** False for a work that lists the object and leaves it behind when it goes. */
    readonly isOwner: boolean;
    readonly work: string;
    /** The name of the cluster on the hub, and the hub, where the spoke still knows them. */
    readonly cluster?: string;
    readonly hub?: string;
    readonly record: string;
  }[];
}

export interface SoughtObject {
  /** As kubectl takes it: kind, plural or short name, with or without its group. */
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** Owners of owners; more than anybody makes. */
const LONGEST_CHAIN = 16;

export async function originOf(client: Client, sought: SoughtObject): Promise<Origin> {
  const kind = await kindNamed(client, sought.kind);
  const object = await read(client, kind, sought);
  const kinds = new Kinds(client);
  const chain = [nameOf(object)];
  let current = object;
  for (let depth = 0; depth < LONGEST_CHAIN; depth++) {
    const records = (current.metadata.ownerReferences ?? []).filter(isRecord);
    if (records.length > 0) return { chain, works: await worksOf(client, records, true) };
    const owner = await ownerOf(client, kinds, current);
    if (!owner) break;
    chain.push(nameOf(owner));
    current = owner;
  }
  const topKind = await kinds.find(current);
  const listing = topKind ? await listedBy(client, topKind, current) : [];
  return { chain, works: await worksOf(client, listing, false) };
}

/** What a work only looks at, or does not take along, names no owner; only the record of the work tells. */
async function listedBy(client: Client, { group, plural }: Kind, { metadata }: DynamicObject): Promise<Named[]> {
  const records = await listed(client, AppliedManifestWork).catch((error: unknown) => {
    if (isForbidden(error)) return [];
    throw error;
  });
  const isMeant = ({ group: its = "", resource, namespace = "", name }: AppliedResource) =>
    its === group && resource === plural && namespace === (metadata.namespace ?? "") && name === metadata.name;
  return records
    .filter(({ status }) => status?.appliedResources?.some(isMeant))
    .map(({ metadata: { name } }) => ({ name }));
}

function isRecord({ apiVersion, kind }: OwnerReference): boolean {
  return kind === AppliedManifestWork.kind && apiVersion.startsWith(`${WORK_GROUP}/`);
}

async function ownerOf(client: Client, kinds: Kinds, { metadata }: DynamicObject): Promise<DynamicObject | undefined> {
  const owners = metadata.ownerReferences ?? [];
  const reference = owners.find(({ controller }) => controller) ?? owners[0];
  if (!reference) return undefined;
  const kind = await kinds.find(reference);
  if (!kind) return undefined;
  try {
    const owner = await client.get(kind, keyFor(kind, { name: reference.name, namespace: metadata.namespace ?? "" }));
    return owner.metadata.uid === reference.uid ? complete(owner, reference) : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Objects of a list or an answer may come without what they are. */
function complete(object: DynamicObject, { apiVersion, kind }: { apiVersion: string; kind: string }): DynamicObject {
  return { ...object, apiVersion, kind };
}

interface Named {
  readonly name: string;
}

async function worksOf(client: Client, records: readonly Named[], isOwner: boolean): Promise<Origin["works"]> {
  const hub = await knownHub(client);
  return Promise.all(
    records.map(async ({ name }) => {
      const record = await client.get(AppliedManifestWork, name).catch((error: unknown) => {
        if (isNotFound(error) || isForbidden(error)) return undefined;
        throw error;
      });
      const [hash = "", ...rest] = name.split("-");
      const work = record?.spec?.manifestWorkName ?? rest.join("-");
      const isKnown = hub && createHash("sha256").update(hub.server).digest("hex") === (record?.spec?.hubHash ?? hash);
      return { isOwner, work, ...(isKnown && { cluster: hub.cluster, hub: hub.server }), record: name };
    }),
  );
}

/** The hub that the spoke's agent works for; undefined where it has none, or one may not look. */
async function knownHub(client: Client): Promise<{ server: string; cluster: string } | undefined> {
  try {
    const secret = await client.get(Secret, `${AGENT_NAMESPACE}/${OperatorSecret.hub}`);
    const config = kubeconfigIn(secret);
    const server = config?.clusters[0]?.server;
    return server === undefined ? undefined : { server, cluster: textIn(secret, "cluster-name") };
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return undefined;
    throw error;
  }
}

async function read(client: Client, kind: Kind, sought: SoughtObject): Promise<DynamicObject> {
  try {
    const { group, version, kind: word } = kind;
    const found = await client.get(kind, keyFor(kind, sought));
    return complete(found, { apiVersion: group === "" ? version : `${group}/${version}`, kind: word });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const where = kind.namespaced ? ` in namespace ${sought.namespace}; name another with -n` : "";
    throw new UserError(`there is no ${kind.kind} ${sought.name} on ${client.server}${where}`);
  }
}

function keyFor({ namespaced }: Kind, { name, namespace }: { name: string; namespace: string }): string {
  return namespaced ? `${namespace}/${name}` : name;
}

function nameOf({ kind, metadata }: DynamicObject): string {
  return `${kind} ${metadata.namespace ? `${metadata.namespace}/` : ""}${metadata.name}`;
}

interface ServedResource {
  readonly name: string;
  readonly singularName: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
}

/** The kind that a word of kubectl's means; the groups are asked in the server's order, the core first. */
async function kindNamed(client: Client, word: string): Promise<Kind> {
  const [wanted = "", ...rest] = word.toLowerCase().split(".");
  const group = rest.join(".");
  const served: string[] = [];
  for (const apiVersion of await servedVersions(client)) {
    const [version = "", ofGroup = ""] = apiVersion.split("/").reverse();
    if (group !== "" && group !== ofGroup) continue;
    const resources = await resourcesOf(client, apiVersion);
    served.push(...resources.flatMap(({ name, kind }) => [name, kind.toLowerCase()]));
    const found = resources.find(({ name, singularName, kind, shortNames }) =>
      [name, singularName, kind.toLowerCase(), ...shortNames].includes(wanted),
    );
    if (found) {
      return { group: ofGroup, version, kind: found.kind, plural: found.name, namespaced: found.namespaced };
    }
  }
  throw new UserError(
    `${client.server} has no kind ${word}${didYouMean(wanted, served)}; write it as kubectl does, such as deployment or deployments.apps`,
  );
}

async function servedVersions(client: Client): Promise<string[]> {
  const { groups } = parseJson(await client.raw("/apis")) as {
    groups?: { preferredVersion?: { groupVersion?: string } }[];
  };
  return ["v1", ...(groups ?? []).flatMap(({ preferredVersion }) => preferredVersion?.groupVersion ?? [])];
}

async function resourcesOf(client: Client, apiVersion: string): Promise<ServedResource[]> {
  const path = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const list = await client
    .raw(path)
    .then(parseJson)
    .catch((error: unknown) => {
      if (isNotFound(error)) return undefined; // it has gone since we asked
      throw error;
    });
  const resources =
    isObject(list) && Array.isArray(list.resources) ? (list.resources as Partial<ServedResource>[]) : [];
  return resources.flatMap(({ name = "", singularName = "", kind = "", namespaced = false, shortNames = [] }) =>
    name === "" || name.includes("/") ? [] : [{ name, singularName, kind, namespaced, shortNames }],
  );
}
