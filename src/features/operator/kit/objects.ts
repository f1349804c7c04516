/** The simple objects that stand around a program: who it is, and what it may do. */
import { Namespace, ServiceAccount } from "#api/core";
import { apiVersionOf, type DynamicObject, type Kind, type KubeObject } from "#api/meta";
import { OperatorSecret } from "#api/operator";
import {
  ClusterRole,
  ClusterRoleBinding,
  type PolicyRule,
  RBAC_GROUP,
  Role,
  RoleBinding,
  type RoleRef,
  type Subject,
} from "#api/rbac";

/** An object that says which kind it is. */
export function complete<T extends KubeObject>(kind: Kind<T>, object: Omit<T, "apiVersion" | "kind">): DynamicObject {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, ...object } as unknown as DynamicObject;
}

export function namespace(name: string, annotations?: Record<string, string>): DynamicObject {
  return complete(Namespace, { metadata: { name, ...(annotations && { annotations }) } });
}

/** A name in a namespace. */
export interface Place {
  readonly name: string;
  readonly namespace: string;
}

/** Its Pods may use the pull secret that the operator copies beside them; one that is not there does no harm. */
export function serviceAccount({ name, namespace: space }: Place): DynamicObject {
  const imagePullSecrets = [{ name: OperatorSecret.imagePull }];
  return complete(ServiceAccount, { metadata: { name, namespace: space }, imagePullSecrets } as Omit<
    ServiceAccount,
    "apiVersion" | "kind"
  >);
}

export function subjectOf({ name, namespace: space }: Place): Subject {
  return { kind: "ServiceAccount", name, namespace: space };
}

/** A ClusterRole and the binding of the same name that gives it to service accounts. */
export function clusterRights(name: string, rules: PolicyRule[], to: readonly Place[]): DynamicObject[] {
  return [
    complete(ClusterRole, { metadata: { name }, rules }),
    complete(ClusterRoleBinding, {
      metadata: { name },
      roleRef: roleRef("ClusterRole", name),
      subjects: to.map(subjectOf),
    }),
  ];
}

/** The same within one namespace. */
export function localRights(
  { name, namespace: space }: Place,
  rules: PolicyRule[],
  to: readonly Place[],
): DynamicObject[] {
  const metadata = { name, namespace: space };
  return [
    complete(Role, { metadata, rules }),
    complete(RoleBinding, { metadata, roleRef: roleRef("Role", name), subjects: to.map(subjectOf) }),
  ];
}

export function roleRef(kind: RoleRef["kind"], name: string): RoleRef {
  return { apiGroup: RBAC_GROUP, kind, name };
}
