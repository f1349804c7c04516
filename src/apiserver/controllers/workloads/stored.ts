/** Objects of known kinds as the store holds them. */
import type { Pod } from "#api/core";
import type { DynamicObject, KubeObject } from "#api/meta";
import type { Ownership } from "../ownership.ts";
import { PODS } from "./pods.ts";

/** An object whose kind is known, and which still fits wherever any object does. */
export type Stored<T extends KubeObject> = T & DynamicObject;

/** The Pods that an object controls, in order of key. */
export function podsOf(ownership: Ownership, { metadata: { uid = "" } }: KubeObject): Stored<Pod>[] {
  return [...ownership.controlledBy(PODS, uid)] as Stored<Pod>[];
}
