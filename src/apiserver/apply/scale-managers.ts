/**
 * `/scale` shows one field of an object as an object of its own. These turn the managers of the object into those of
 * the view and back, so that a write of the view is tracked like any other.
 */
import type { ManagedFieldsEntry } from "#api/meta";
import { identityOf, type Manager, readManagers, writeManagers } from "./managers.ts";
import { fieldElement } from "./path-element.ts";
import { difference, has, isEmpty, type Path, pathSet } from "./path-set.ts";

export const SCALE_VERSION = "autoscaling/v1";

const REPLICAS: Path = ["f:spec", "f:replicas"];

export interface ScaledObject {
  readonly managedFields: ManagedFieldsEntry[] | undefined;
  readonly apiVersion: string;
  /** Names of the fields that lead to the replicas. */
  readonly replicasPath: readonly string[];
}

/** Whoever owns the replicas, as owner of the view's. */
export function managersOfScale({ managedFields, replicasPath }: ScaledObject): ManagedFieldsEntry[] | undefined {
  const path = replicasPath.map(fieldElement);
  const scale = new Map<string, Manager>();
  for (const manager of readManagers(managedFields).values()) {
    if (!has(manager.fields, path)) continue;
    const owner = { ...manager, apiVersion: SCALE_VERSION, fields: pathSet(REPLICAS) };
    scale.set(identityOf(owner), owner);
  }
  return writeManagers(scale);
}

/** The object's managers after a write of the view: who lost the replicas there loses them here. */
export function managersOfScaled(
  { managedFields, apiVersion, replicasPath }: ScaledObject,
  scaleEntries: ManagedFieldsEntry[] | undefined,
): ManagedFieldsEntry[] | undefined {
  const path = replicasPath.map(fieldElement);
  const scale = new Map([...readManagers(scaleEntries)].filter(([, { fields }]) => has(fields, REPLICAS)));
  const out = new Map<string, Manager>();
  for (const [id, manager] of readManagers(managedFields)) {
    const inScale = identityOf({ ...manager, apiVersion: SCALE_VERSION });
    const keeps = !has(manager.fields, path) || scale.delete(inScale);
    const fields = keeps ? manager.fields : difference(manager.fields, pathSet(path));
    if (!isEmpty(fields)) out.set(id, { ...manager, fields });
  }
  for (const { time: _, ...manager } of scale.values()) {
    const owner = { ...manager, apiVersion, fields: pathSet(path) };
    out.set(identityOf(owner), owner);
  }
  return writeManagers(out);
}
