/** What each of the cluster's signers asks of a request before it signs. */
import { Signer } from "#api/certificates";
import type { CertificateRequest, CertificateUsage } from "#lib/pki";

/** What is wrong with a request, or nothing. */
export type Rule = (request: CertificateRequest, usages: readonly CertificateUsage[]) => string | undefined;

const CLIENT_USAGES: readonly CertificateUsage[] = ["digital signature", "key encipherment", "client auth"];
const SERVING_USAGES: readonly CertificateUsage[] = ["digital signature", "key encipherment", "server auth"];
const NODE_GROUP = "system:nodes";
const NODE_PREFIX = "system:node:";

/** By the name of the signer; requests to others are left to whoever serves them. */
export const signerRules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  [Signer.kubeApiserverClient, clientRule],
  [Signer.kubeApiserverClientKubelet, nodeClientRule],
  [Signer.kubeletServing, nodeServingRule],
  [Signer.legacyUnknown, () => undefined],
]);

function clientRule(_: CertificateRequest, usages: readonly CertificateUsage[]): string | undefined {
  const isFine = usages.every((usage) => CLIENT_USAGES.includes(usage)) && usages.includes("client auth");
  return isFine ? undefined : `usages must be among ${CLIENT_USAGES.join(", ")} and must include client auth`;
}

function nodeClientRule(request: CertificateRequest, usages: readonly CertificateUsage[]): string | undefined {
  const { dnsNames, ipAddresses, emails, uris } = request;
  if ([dnsNames, ipAddresses, emails, uris].some((names) => names.length > 0)) {
    return "a node's client certificate has no other names than its subject";
  }
  return nodeProblem(request) ?? exactly(usages, CLIENT_USAGES);
}

function nodeServingRule(request: CertificateRequest, usages: readonly CertificateUsage[]): string | undefined {
  const { dnsNames, ipAddresses, emails, uris } = request;
  if (dnsNames.length + ipAddresses.length === 0) return "a DNS name or an IP address is required";
  if (emails.length + uris.length > 0) return "a node's serving certificate names no emails and no URIs";
  return nodeProblem(request) ?? exactly(usages, SERVING_USAGES);
}

function nodeProblem({ subject }: CertificateRequest): string | undefined {
  const { organizations, commonName = "" } = subject;
  if (organizations.length !== 1 || organizations[0] !== NODE_GROUP) return `the organization must be ${NODE_GROUP}`;
  return commonName.startsWith(NODE_PREFIX) ? undefined : `the common name must begin with ${NODE_PREFIX}`;
}

/** Keys that are not RSA encipher no keys, and their requests may leave that out. */
function exactly(usages: readonly CertificateUsage[], wanted: readonly CertificateUsage[]): string | undefined {
  const needed = wanted.filter((usage) => usage !== "key encipherment" || usages.includes(usage));
  const isSame = needed.every((usage) => usages.includes(usage)) && usages.every((usage) => needed.includes(usage));
  return isSame ? undefined : `usages must be ${wanted.join(", ")}`;
}
