/** How many Pods the owners of some Pods want, all taken together. */
import type { Pod } from "#api/core";
import { apiVersionOf, type DynamicObject, type OwnerReference } from "#api/meta";
import { controllerOf } from "#lib/meta";
import type { Catalog } from "../../resource.ts";
import type { Store } from "../../store/index.ts";
import type { Ownership } from "../ownership.ts";

export interface ScaleSources {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly ownership: Pick<Ownership, "placeOf">;
}

export interface Scales {
  /** What all owners want together, each counted once. */
  readonly expected: number;
  /** Pods that nobody owns: they are in no count. */
  readonly unmanaged: readonly string[];
}

/** Why the wish of an owner is not known. */
export class UnknownScale extends Error {
  override readonly name = "UnknownScale";
}

/** Throws UnknownScale. */
export function scalesOf(pods: readonly Pod[], sources: ScaleSources): Scales {
  const scales = new Map<string, number>();
  const unmanaged: string[] = [];
  const looked = new Set<string>();
  for (const pod of pods) {
    const reference = controllerOf(pod);
    if (!reference) unmanaged.push(pod.metadata.name);
    else if (!looked.has(reference.uid)) {
      looked.add(reference.uid);
      const owner = topOwner(reference, sources);
      if (!owner) throw new UnknownScale(`found no controllers for pod ${JSON.stringify(pod.metadata.name)}`);
      scales.set(owner.uid, owner.scale);
    }
  }
  return { expected: [...scales.values()].reduce((all, scale) => all + scale, 0), unmanaged };
}

/** A Deployment speaks for its ReplicaSets, which come and go while it rolls. */
function topOwner(reference: OwnerReference, sources: ScaleSources): { uid: string; scale: number } | undefined {
  const found = find(reference, sources);
  if (!found) return undefined;
  const above = found.kind === "ReplicaSet" ? controllerOf(found) : undefined;
  const deployment = above?.kind === "Deployment" ? find(above, sources) : undefined;
  const owner = deployment ?? found;
  return { uid: owner.metadata.uid ?? "", scale: scaleOf(owner, sources) };
}

function find({ uid, kind, apiVersion }: OwnerReference, sources: ScaleSources): DynamicObject | undefined {
  const { store, catalog, ownership } = sources;
  const isServed = catalog.resources.some(
    (resource) => resource.kind === kind && apiVersionOf(resource) === apiVersion,
  );
  if (!isServed) throw new UnknownScale(`no matches for kind ${JSON.stringify(kind)} in version "${apiVersion}"`);
  const place = ownership.placeOf(uid);
  return place && store.get(place.storage, place.key);
}

function scaleOf(owner: DynamicObject, { catalog }: ScaleSources): number {
  const resource = catalog.resources.find(
    (each) => each.kind === owner.kind && apiVersionOf(each) === owner.apiVersion && !each.answer,
  );
  const scale = resource?.subresources.find(({ name }) => name === "scale")?.view;
  if (!scale) {
    const plural = [resource?.plural, resource?.group].filter(Boolean).join(".");
    throw new UnknownScale(`${plural} does not implement the scale subresource`);
  }
  const { spec } = scale.read(owner) as { spec?: { replicas?: number } };
  return spec?.replicas ?? 0;
}
