/** The group `certificates.k8s.io/v1`: asking the cluster for a certificate. */
import { type KubeObject, kind } from "#api/meta";

export interface CertificateSigningRequest extends KubeObject {
  spec: {
    /** Base64 of the PEM text. */
    request: string;
    signerName: string;
    usages?: string[];
    expirationSeconds?: number;
    /** Who asked: filled in by the server, not by the writer. */
    username?: string;
    uid?: string;
    groups?: string[];
    extra?: Record<string, string[]>;
  };
  status?: {
    /** Base64 of the PEM chain, once signed. */
    certificate?: string;
    conditions?: CertificateRequestCondition[];
  };
}
export const CertificateSigningRequest = kind<CertificateSigningRequest>({
  group: "certificates.k8s.io",
  version: "v1",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  namespaced: false,
});

export interface CertificateRequestCondition {
  type: "Approved" | "Denied" | "Failed";
  status: "True" | "False" | "Unknown";
  reason?: string;
  message?: string;
  lastUpdateTime?: string;
  lastTransitionTime?: string;
}

export const Signer = {
  kubeApiserverClient: "kubernetes.io/kube-apiserver-client",
  kubeApiserverClientKubelet: "kubernetes.io/kube-apiserver-client-kubelet",
  kubeletServing: "kubernetes.io/kubelet-serving",
  legacyUnknown: "kubernetes.io/legacy-unknown",
} as const;

export const KeyUsage = {
  digitalSignature: "digital signature",
  keyEncipherment: "key encipherment",
  clientAuth: "client auth",
  serverAuth: "server auth",
} as const;
