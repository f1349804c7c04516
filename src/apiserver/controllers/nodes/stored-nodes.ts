/** Nodes and their Pods as the store holds them. */
import type { Node, Pod } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { findCondition } from "#lib/conditions";
import type { Store } from "../../store/index.ts";

export const NODES = "core/nodes";
export const PODS = "core/pods";

export type StoredNode = Node & DynamicObject;
export type StoredPod = Pod & DynamicObject;

export function nodeNamed(store: Store, name: string): StoredNode | undefined {
  return store.get(NODES, name) as StoredNode | undefined;
}

export function podsOn(store: Store, node: string): StoredPod[] {
  return (store.list(PODS).items as StoredPod[]).filter(({ spec }) => spec.nodeName === node);
}

export function readiness(node: DynamicObject | undefined): string | undefined {
  return findCondition((node as StoredNode | undefined)?.status?.conditions, "Ready")?.status;
}
