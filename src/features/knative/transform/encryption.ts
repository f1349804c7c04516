import type { KnativeEventingSpec } from "#api/knative";
import { idOf, type Manifest } from "#kube";

const GROUPS: readonly string[] = ["cert-manager.io", "trust.cert-manager.io"];

/**
 * What is needed only where Eventing encrypts: certificates, which a cluster without cert-manager cannot even hold.
 * Unless it does, they are unwanted, and go from the cluster too.
 */
export function withoutEncryption(
  manifests: readonly Manifest[],
  { config = {} }: KnativeEventingSpec,
): { readonly manifests: readonly Manifest[]; readonly unwanted: readonly Manifest[] } {
  const features = config.features ?? config["config-features"];
  const mode = features?.["transport-encryption"]?.toLowerCase() ?? "";
  if (mode === "permissive" || mode === "strict") return { manifests, unwanted: [] };
  const isUnwanted = ({ object }: Manifest) => GROUPS.includes(idOf(object).group);
  return {
    manifests: manifests.filter((manifest) => !isUnwanted(manifest)),
    unwanted: manifests.filter(isUnwanted),
  };
}
