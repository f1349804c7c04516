/** Asking the hub for a certificate, and reading its answer. */
import { type CertificateSigningRequest, KeyUsage, Signer } from "#api/certificates";
import { AgentIdentity, ClusterLabel } from "#api/cluster";
import type { Draft } from "#kube";
import { createCertificateRequest, PkiError, parseCertificate } from "#lib/pki";
import { belongsTo } from "./hub-identity.ts";

/** The request of an agent for its identity. */
export function requestDraft(asked: {
  clusterName: string;
  agentName: string;
  key: string;
  expirationSeconds?: number;
}): Draft<CertificateSigningRequest> {
  const { clusterName, agentName, key, expirationSeconds } = asked;
  const request = createCertificateRequest({
    subject: {
      commonName: AgentIdentity.user(clusterName, agentName),
      organizations: [AgentIdentity.group(clusterName), AgentIdentity.commonGroup],
    },
    key,
  });
  return {
    metadata: { generateName: `${clusterName}-`, labels: { [ClusterLabel.name]: clusterName } },
    spec: {
      request: Buffer.from(request).toString("base64"),
      signerName: Signer.kubeApiserverClient,
      usages: [KeyUsage.digitalSignature, KeyUsage.keyEncipherment, KeyUsage.clientAuth],
      ...(expirationSeconds !== undefined && { expirationSeconds }),
    },
  };
}

export type Answer = { is: "waiting" } | { is: "refused"; why: string } | { is: "issued"; certificate: string };

/** What the hub said to the request that was made with this key. */
export function answerTo({ status }: CertificateSigningRequest, key: string): Answer {
  const conditions = status?.conditions ?? [];
  const no = conditions.find(({ type }) => type === "Denied" || type === "Failed");
  if (no) return { is: "refused", why: no.message || no.reason || no.type };
  if (!status?.certificate || !conditions.some(({ type }) => type === "Approved")) return { is: "waiting" };

  const certificate = Buffer.from(status.certificate, "base64").toString("utf8");
  try {
    if (belongsTo(parseCertificate(certificate), key)) return { is: "issued", certificate };
    return { is: "refused", why: "the certificate is for another key" };
  } catch (error) {
    if (error instanceof PkiError) return { is: "refused", why: `the certificate cannot be read: ${error.message}` };
    throw error;
  }
}
