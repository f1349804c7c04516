/** The least that a cluster needs of other people's products before manifests that use them can be put in. */
import type { CustomResourceDefinition } from "#api/apiextensions";

const KINDS: readonly (readonly [group: string, version: string, kind: string, scope: "Namespaced" | "Cluster"])[] = [
  ["cert-manager.io", "v1", "Certificate", "Namespaced"],
  ["cert-manager.io", "v1", "Issuer", "Namespaced"],
  ["cert-manager.io", "v1", "ClusterIssuer", "Cluster"],
  ["networking.istio.io", "v1beta1", "Gateway", "Namespaced"],
  ["security.istio.io", "v1beta1", "PeerAuthentication", "Namespaced"],
  ["projectcontour.io", "v1", "TLSCertificateDelegation", "Namespaced"],
];

export const thirdPartyKinds: readonly CustomResourceDefinition[] = KINDS.map(([group, version, kind, scope]) => {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        },
      ],
    },
  };
});
