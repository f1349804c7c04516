/** The words that are written on objects of this group and read by others: never change one. */

export const ADDON_GROUP = "addon.open-cluster-management.io";

export const AddOnAnnotation = {
  /** On a ManagedClusterAddOn in v1beta1, which has no field for it: the namespace that v1alpha1 says. */
  installNamespace: "addon.open-cluster-management.io/v1alpha1-install-namespace",
  /** On an object shown in v1beta1, what only v1alpha1 can say of it; and the other way round. Ours. */
  keptOfV1Alpha1: "conversion.capstan.dev/v1alpha1",
  keptOfV1Beta1: "conversion.capstan.dev/v1beta1",
} as const;

/** Where the agents of add-ons run unless told. */
export const ADDON_NAMESPACE = "open-cluster-management-agent-addon";

/** The name that stands in v1beta1 for a configuration that an add-on supports and has no default of. */
export const NO_DEFAULT_CONFIG = "__reserved_no_default__";

/** The signer by which an add-on becomes a client of the hub; in v1beta1 it is a kind of registration of its own. */
export const KUBE_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client";
