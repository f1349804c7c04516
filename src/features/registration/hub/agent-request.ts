/** Recognising the certificate request of a cluster's agent. Everything here is matched whole, never by prefix. */
import { type CertificateSigningRequest, KeyUsage, Signer } from "#api/certificates";
import { AgentIdentity, ClusterLabel } from "#api/cluster";
import { type CertificateRequest, PkiError, parseCertificateRequest } from "#lib/pki";

/** What the agent of a cluster asks to be. */
export interface AgentRequest {
  cluster: string;
  /** The common name: the user that the certificate will make its holder. */
  user: string;
}

const USAGES: ReadonlySet<string> = new Set([KeyUsage.digitalSignature, KeyUsage.keyEncipherment, KeyUsage.clientAuth]);

/** Whose agent asks, or nothing if this is any other request, or one that asks for more than an agent should have. */
export function agentRequest({ metadata, spec }: CertificateSigningRequest): AgentRequest | undefined {
  const cluster = metadata.labels?.[ClusterLabel.name];
  if (!cluster || metadata.labels?.[ClusterLabel.addon] !== undefined) return undefined;
  if (spec.signerName !== Signer.kubeApiserverClient) return undefined;
  const usages = spec.usages ?? [];
  if (!usages.includes(KeyUsage.clientAuth) || !usages.every((usage) => USAGES.has(usage))) return undefined;

  const asked = parsed(spec.request);
  if (!asked) return undefined;
  const { commonName, organizations, attributes } = asked.subject;
  const groups = organizations.filter((group) => group !== AgentIdentity.commonGroup);
  if (groups.length !== 1 || groups[0] !== AgentIdentity.group(cluster)) return undefined;
  // One common name, and nothing else that somebody could take for who the agent is: readers disagree on which counts.
  if (attributes.length !== organizations.length + 1 || hasAlternativeNames(asked)) return undefined;

  const agent = agentOf(commonName, cluster);
  return agent === undefined ? undefined : { cluster, user: AgentIdentity.user(cluster, agent) };
}

/**
 * The agent's own name. It holds no colon: the users of add-ons are spelt with more of them, and the agent of
 * a cluster called `cluster` could otherwise ask to be one of those.
 */
function agentOf(commonName: string, cluster: string): string | undefined {
  const start = AgentIdentity.user(cluster, "");
  if (!commonName.startsWith(start)) return undefined;
  const agent = commonName.slice(start.length);
  return agent === "" || agent.includes(":") ? undefined : agent;
}

/** As agents write it, and nothing else: what is signed must be what was judged, whoever reads it. */
const ALONE = /^-----BEGIN CERTIFICATE REQUEST-----\n[A-Za-z0-9+/=\n]+\n-----END CERTIFICATE REQUEST-----\n?$/;

function parsed(request: string): CertificateRequest | undefined {
  const text = Buffer.from(request, "base64").toString("utf8");
  if (!ALONE.test(text)) return undefined;
  try {
    return parseCertificateRequest(text);
  } catch (error) {
    if (error instanceof PkiError) return undefined;
    throw error;
  }
}

/** An agent is a client: a certificate that also names hosts or mailboxes could serve for something else. */
function hasAlternativeNames({ dnsNames, ipAddresses, emails, uris }: CertificateRequest): boolean {
  return dnsNames.length + ipAddresses.length + emails.length + uris.length > 0;
}
