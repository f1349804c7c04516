/** Whose an object is, and what is not ours in it. */
import { COMPONENT_LABEL, type KnativeComponent } from "#api/knative";
import type { DynamicObject, OwnerReference } from "#api/meta";
import { ClusterRole, type PolicyRule } from "#api/rbac";
import { withLabels } from "#lib/meta";
import { isOf, type Transformer } from "./objects.ts";

/** The rules of a role that is made of others are written by the cluster: what is there now is right. */
export function withAggregatedRules(rulesOf: (name: string) => readonly PolicyRule[] | undefined): Transformer {
  return (object) => {
    if (!isOf(object, ClusterRole) || !object.aggregationRule) return object;
    const rules = rulesOf(object.metadata.name);
    return rules ? { ...object, rules } : object;
  };
}

/** The only owner of everything in the namespace. */
export function ownedBy(owner: OwnerReference): Transformer {
  const ownerReferences = [{ ...owner, controller: true, blockOwnerDeletion: true }];
  return (object) =>
    object.metadata.namespace ? { ...object, metadata: { ...object.metadata, ownerReferences } } : object;
}

export function withoutOwner(object: DynamicObject): DynamicObject {
  const { ownerReferences: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

export function labelled(component: KnativeComponent): Transformer {
  return (object) => withLabels(object, { [COMPONENT_LABEL]: component });
}
