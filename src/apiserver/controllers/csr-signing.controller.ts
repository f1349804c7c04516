/**
 * Signs approved CertificateSigningRequests for clients of this API server and for nodes.
 *
 * Key     CertificateSigningRequest name
 * Reads   CertificateSigningRequest
 * Writes  status.certificate, or condition Failed
 * Twin    kube-controller-manager: certificatesigningrequest-signing-controller
 */
import type { Condition, DynamicObject } from "#api/meta";
import { type Clock, timestamp } from "#lib/clock";
import {
  type CertificateAuthority,
  isCertificateUsage,
  issueCertificate,
  PkiError,
  parseCertificateRequest,
} from "#lib/pki";
import type { Store } from "../store/index.ts";
import type { ServerController } from "./runner.ts";
import { signerRules } from "./signers.ts";
import type { SystemWriter } from "./system.ts";

const REQUESTS = "certificates.k8s.io/certificatesigningrequests";

const MINUTE_MS = 60_000;
const BACKDATE_MS = 5 * MINUTE_MS;
/** Nobody gets less by asking. */
const SHORTEST_MS = 10 * MINUTE_MS;
/** Certificates that live shorter than this are not shortened by the time they are dated back. */
const SHORT_LIVED_MS = 8 * 60 * MINUTE_MS;

export interface SigningOptions {
  readonly store: Store;
  readonly writer: SystemWriter;
  readonly authority: CertificateAuthority;
  /** How long a certificate lives when the request asks for nothing shorter. */
  readonly signingDurationMs: number;
  readonly clock: Clock;
}

export function csrSigningController({
  store,
  writer,
  authority,
  signingDurationMs,
  clock,
}: SigningOptions): ServerController {
  return {
    name: "csr-signing",
    keysOf: ({ resource, key }) => (resource === REQUESTS ? [key] : []),
    async reconcile(name) {
      const request = store.get(REQUESTS, name);
      if (!request || !awaitsSigning(request)) return undefined;
      const outcome = signed(request, authority, signingDurationMs, clock.now());
      await writer.change(
        REQUESTS,
        name,
        (draft) => {
          const status = (draft.status ?? {}) as { conditions?: Condition[] };
          if ("certificate" in outcome) {
            return {
              ...draft,
              status: { ...status, certificate: Buffer.from(outcome.certificate).toString("base64") },
            };
          }
          return {
            ...draft,
            status: { ...status, conditions: [...(status.conditions ?? []), failed(outcome.refused, clock.now())] },
          };
        },
        "status",
      );
      return undefined;
    },
  };
}

interface RequestSpec {
  readonly request: string;
  readonly signerName: string;
  readonly usages?: readonly string[];
  readonly expirationSeconds?: number;
}

function awaitsSigning({ spec, status }: DynamicObject): boolean {
  const { certificate, conditions = [] } = (status ?? {}) as { certificate?: string; conditions?: Condition[] };
  const has = (type: string) => conditions.some((condition) => condition.type === type);
  const { signerName } = spec as RequestSpec;
  return signerRules.has(signerName) && !certificate && has("Approved") && !has("Denied") && !has("Failed");
}

function signed(
  { spec }: DynamicObject,
  authority: CertificateAuthority,
  longestMs: number,
  now: Date,
): { certificate: string } | { refused: string } {
  const { request, signerName, usages = [], expirationSeconds } = spec as RequestSpec;
  const known = usages.filter(isCertificateUsage);
  if (known.length !== usages.length) return { refused: "the request asks for usages that nobody knows" };
  try {
    const asked = parseCertificateRequest(Buffer.from(request, "base64").toString("utf8"));
    const problem = signerRules.get(signerName)?.(asked, known);
    if (problem !== undefined) return { refused: problem };
    const lifeMs = lifeOf(expirationSeconds, longestMs);
    const certificate = issueCertificate({
      ca: authority,
      subject: asked.subject,
      publicKey: asked.publicKey,
      usages: known,
      dnsNames: asked.dnsNames,
      ipAddresses: asked.ipAddresses,
      emails: asked.emails,
      uris: asked.uris,
      notBefore: new Date(now.getTime() - BACKDATE_MS),
      notAfter: new Date(now.getTime() + lifeMs - (lifeMs < SHORT_LIVED_MS ? 0 : BACKDATE_MS)),
    });
    return { certificate };
  } catch (error) {
    if (error instanceof PkiError) return { refused: error.message };
    throw error;
  }
}

/** What is asked for, within what the cluster gives; who asks for nothing gets all of it, however short that is. */
function lifeOf(expirationSeconds: number | undefined, longestMs: number): number {
  if (!expirationSeconds) return longestMs;
  const askedMs = expirationSeconds * 1000;
  return askedMs > longestMs ? longestMs : Math.max(askedMs, SHORTEST_MS);
}

function failed(message: string, now: Date): Condition {
  const time = timestamp(now);
  return {
    type: "Failed",
    status: "True",
    reason: "SignerValidationFailure",
    message,
    lastTransitionTime: time,
    lastUpdateTime: time,
  } as Condition;
}
