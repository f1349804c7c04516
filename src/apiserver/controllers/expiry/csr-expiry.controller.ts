/**
 * Deletes CertificateSigningRequests that nobody will look at any more.
 *
 * Key     CertificateSigningRequest name
 * Reads   CertificateSigningRequest
 * Writes  deletes CertificateSigningRequests
 * Twin    kube-controller-manager: certificatesigningrequest-cleaner-controller
 */
import type { CertificateSigningRequest } from "#api/certificates";
import { PkiError, parseCertificates } from "#lib/pki";
import type { ServerController } from "../runner.ts";
import { type ExpiryParts, expiringController } from "./expiring.ts";

const HOUR_MS = 3_600_000;
/** An answer is kept for an hour, so that whoever asked can fetch it; a question for a day. */
const ANSWERED_MS = HOUR_MS;
const UNANSWERED_MS = 24 * HOUR_MS;

export function csrExpiryController(parts: ExpiryParts): ServerController {
  return expiringController(parts, {
    name: "csr-expiry",
    storage: "certificates.k8s.io/certificatesigningrequests",
    expiryMs: (request) => csrExpiryMs(request as unknown as CertificateSigningRequest),
  });
}

/** The earliest of all the ends that a request has. */
export function csrExpiryMs({ metadata, status }: CertificateSigningRequest): number | undefined {
  const { certificate = "", conditions = [] } = status ?? {};
  const ends = conditions.flatMap(({ type, lastUpdateTime = "" }): (number | undefined)[] => {
    const since = Date.parse(lastUpdateTime);
    if (type === "Denied" || type === "Failed") return [since + ANSWERED_MS];
    if (type !== "Approved") return [];
    return certificate === "" ? [since + UNANSWERED_MS] : [since + ANSWERED_MS, endOf(certificate)];
  });
  if (conditions.length === 0) ends.push(Date.parse(metadata.creationTimestamp ?? "") + UNANSWERED_MS);
  const known = ends.filter((end): end is number => end !== undefined && !Number.isNaN(end));
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** When the first certificate of a chain ends; undefined for what is none. */
function endOf(encoded: string): number | undefined {
  try {
    const [first] = parseCertificates(Buffer.from(encoded, "base64").toString("latin1"));
    return first?.notAfter.getTime();
  } catch (error) {
    if (error instanceof PkiError) return undefined;
    throw error;
  }
}
