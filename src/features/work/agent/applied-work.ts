/** The AppliedManifestWork of a work: its name, who answers for it, and the objects that it lists. */
import { createHash } from "node:crypto";
import { apiVersionOf, type Kind, type OwnerReference } from "#api/meta";
import {
  AppliedAnnotation,
  AppliedManifestWork,
  type AppliedResource,
  type ManifestWork,
  WorkFinalizer,
} from "#api/work";
import type { Draft, ObjectId } from "#kube";
import { equal, isObject, parseJson } from "#lib/json";
import { withFinalizer } from "#lib/meta";

/** One hub, as one agent of a spoke sees it. */
export interface HubSide {
  /** Stands for the hub in names. */
  readonly hash: string;
  /** Who looks after what was applied; works of another agent are left alone. */
  readonly agentId: string;
}

/** The address is hashed as the agent's kubeconfig has it, so that every agent comes to the same name. */
export function hubSide(server: string, agentId?: string): HubSide {
  const hash = createHash("sha256").update(server).digest("hex");
  return { hash, agentId: agentId || hash };
}

export function appliedName({ hash }: HubSide, workName: string): string {
  return `${hash}-${workName}`;
}

/** Whether it stands for a work of this hub. */
export function isOfHub({ spec }: AppliedManifestWork, { hash }: HubSide): boolean {
  return spec?.hubHash === hash;
}

/** Whether this agent looks after it, be it from a hub that it worked for before. */
export function isLookedAfter({ spec }: AppliedManifestWork, { agentId }: HubSide): boolean {
  return (spec?.agentID || spec?.hubHash) === agentId;
}

/** As it is created: with the labels that the work has then. */
export function appliedDraft(
  { metadata }: ManifestWork,
  hub: HubSide,
  annotations: Readonly<Record<string, string>>,
): Draft<AppliedManifestWork> {
  const { name, labels } = metadata;
  return {
    metadata: {
      name: appliedName(hub, name),
      ...(labels && { labels }),
      annotations,
      finalizers: [WorkFinalizer.applied],
    },
    spec: specFor(name, hub),
  };
}

/** One that is there already, with what has to be said of it. */
export function mended(applied: AppliedManifestWork, { metadata }: ManifestWork, hub: HubSide): AppliedManifestWork {
  const spec = { ...applied.spec, ...specFor(metadata.name, hub) };
  const held = withFinalizer(applied, WorkFinalizer.applied);
  return equal(spec, applied.spec) ? held : { ...held, spec };
}

function specFor(manifestWorkName: string, { hash, agentId }: HubSide): NonNullable<AppliedManifestWork["spec"]> {
  return { hubHash: hash, agentID: agentId, manifestWorkName };
}

/** More than this is not for an annotation, of which an object has room for 256 KiB. */
const LONGEST_COMING = 32_768;

/** Of one that is made for these; nothing where they are too many, and have to be listed in its status first. */
export function comingMark(resources: readonly AppliedResource[]): Record<string, string> {
  const text = JSON.stringify(sorted(resources));
  return resources.length === 0 || text.length > LONGEST_COMING ? {} : { [AppliedAnnotation.coming]: text };
}

/** What there is because of the work, or may be: what it was made for counts until something is listed. */
export function listedIn({ metadata, status }: AppliedManifestWork): readonly AppliedResource[] {
  if (status?.appliedResources) return status.appliedResources;
  const text = metadata.annotations?.[AppliedAnnotation.coming];
  return text === undefined ? [] : resourcesIn(text);
}

/** What somebody else has written there is no list. */
function resourcesIn(text: string): AppliedResource[] {
  try {
    const value = parseJson(text);
    return Array.isArray(value) ? value.filter(isResource) : [];
  } catch {
    return [];
  }
}

function isResource(value: unknown): value is AppliedResource {
  if (!isObject(value)) return false;
  const { group = "", version, resource, namespace = "", name } = value;
  return [group, version, resource, namespace, name].every((each) => typeof each === "string");
}

/** What every object of the work carries: an owner among others, which does not manage it. */
export function ownerOf({ metadata }: Pick<AppliedManifestWork, "metadata">): OwnerReference {
  const { name, uid = "" } = metadata;
  return { apiVersion: apiVersionOf(AppliedManifestWork), kind: AppliedManifestWork.kind, name, uid };
}

/** Whether an owner of an object is a work too: the object then stays for as long as that does. */
export function isAppliedWork({ apiVersion, kind }: OwnerReference): boolean {
  return apiVersion === apiVersionOf(AppliedManifestWork) && kind === AppliedManifestWork.kind;
}

export function resourceOf(kind: Kind, { namespace, name }: ObjectId, uid?: string): AppliedResource {
  return {
    ...(kind.group !== "" && { group: kind.group }),
    version: kind.version,
    resource: kind.plural,
    ...(namespace && { namespace }),
    name,
    ...(uid && { uid }),
  };
}

/** Equal for the same object in whatever version. */
export function resourceKey({ group = "", resource, namespace = "", name }: Omit<AppliedResource, "version">): string {
  return `${group}|${resource}|${namespace}|${name}`;
}

/** In an order that is always the same; of entries for one object the last counts. */
export function sorted(resources: readonly AppliedResource[]): AppliedResource[] {
  const byKey = new Map(resources.map((resource) => [resourceKey(resource), resource]));
  const order = ({ group = "", version, resource, namespace = "", name }: AppliedResource) =>
    [group, version, resource, namespace, name].join("\0"); // before all else, so that a shorter word comes first
  return [...byKey.values()].sort((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0));
}
