/** Which objects lie in a namespace: what the cluster says, else what the release itself defines, else what is known. */
import { CustomResourceDefinition } from "#api/apiextensions";
import type { DynamicObject } from "#api/meta";
import { idOf, type Manifest } from "#kube";
import { isOf } from "./objects.ts";

/** What discovery says of a kind; undefined for kinds that the cluster does not have yet. */
export type ScopeOf = (type: Pick<DynamicObject, "apiVersion" | "kind">) => "Namespaced" | "Cluster" | undefined;

/** For kinds that a cluster may lack when somebody plans an installation there. */
const CLUSTER_KINDS: Readonly<Record<string, readonly string[]>> = {
  "": ["ComponentStatus", "Namespace", "Node", "PersistentVolume"],
  "admissionregistration.k8s.io": [
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
  ],
  "apiextensions.k8s.io": ["CustomResourceDefinition"],
  "apiregistration.k8s.io": ["APIService"],
  "authentication.k8s.io": ["SelfSubjectReview", "TokenReview"],
  "authentication.istio.io": ["MeshPolicy"],
  "authorization.k8s.io": ["SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"],
  "cert-manager.io": ["ClusterIssuer"],
  "certificates.k8s.io": ["CertificateSigningRequest", "ClusterTrustBundle"],
  "flowcontrol.apiserver.k8s.io": ["FlowSchema", "PriorityLevelConfiguration"],
  "gateway.networking.k8s.io": ["GatewayClass"],
  "networking.k8s.io": ["IPAddress", "IngressClass", "ServiceCIDR"],
  "node.k8s.io": ["RuntimeClass"],
  policy: ["PodSecurityPolicy"],
  "rbac.authorization.k8s.io": ["ClusterRole", "ClusterRoleBinding"],
  "scheduling.k8s.io": ["PriorityClass"],
  "storage.k8s.io": ["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
  "trust.cert-manager.io": ["Bundle", "ClusterBundle"],
};

/** Whether an object of these lies in a namespace. */
export function scopeAmong(
  manifests: readonly Manifest[],
  discovered: ScopeOf = () => undefined,
): (object: DynamicObject) => boolean {
  const defined = new Map(
    manifests.flatMap(({ object }) =>
      isOf(object, CustomResourceDefinition)
        ? [[`${object.spec?.group}|${object.spec?.names?.kind}`, object.spec?.scope] as const]
        : [],
    ),
  );
  return (object) => {
    const { group, kind } = idOf(object);
    const known = discovered(object) ?? defined.get(`${group}|${kind}`);
    return known === undefined ? !CLUSTER_KINDS[group]?.includes(kind) : known === "Namespaced";
  };
}
