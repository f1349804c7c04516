/** The certificate by which a node proves who it is: asked of the cluster when it is first needed, and kept in memory. */
import { CertificateSigningRequest, KeyUsage, Signer } from "#api/certificates";
import { type Client, isForbidden } from "#kube";
import { type Clock, timestamp } from "#lib/clock";
import type { Logger } from "#lib/log";
import { createCertificateRequest, generateKeyPair, parseCertificate } from "#lib/pki";

export interface ServingIdentity {
  /** PEM. */
  readonly key: string;
  readonly certificate: string;
}

export interface ServingOptions {
  readonly client: Client;
  readonly node: string;
  readonly address: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** A new certificate is asked for when this share of the lifetime is over. */
const RENEWAL_SHARE = 0.8;
/** How long the cluster may take to sign. */
const PATIENCE_SECONDS = 60;

export class ServingCertificate {
  readonly #options: ServingOptions;
  #current: { identity: ServingIdentity; renewAt: number } | undefined;
  #asking: Promise<ServingIdentity> | undefined;

  constructor(options: ServingOptions) {
    this.#options = options;
  }

  /** One that is good for a while; throws when the cluster gives none. */
  async identity(): Promise<ServingIdentity> {
    if (this.#current && this.#options.clock.now().getTime() < this.#current.renewAt) return this.#current.identity;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<ServingIdentity> {
    const key = generateKeyPair().privateKey;
    const certificate = await signedCertificate(this.#options, key);
    const { notBefore, notAfter } = parseCertificate(certificate);
    const renewAt = notBefore.getTime() + RENEWAL_SHARE * (notAfter.getTime() - notBefore.getTime());
    const identity = { key, certificate };
    this.#current = { identity, renewAt };
    return identity;
  }
}

async function signedCertificate(options: ServingOptions, key: string): Promise<string> {
  const { client, node, address, signal } = options;
  const request = createCertificateRequest({
    subject: { commonName: `system:node:${node}`, organizations: ["system:nodes"] },
    ipAddresses: [address],
    dnsNames: [node],
    key,
  });
  const asked = await client.create(CertificateSigningRequest, {
    metadata: { generateName: "csr-" },
    spec: {
      request: Buffer.from(request).toString("base64"),
      signerName: Signer.kubeletServing,
      usages: [KeyUsage.digitalSignature, KeyUsage.serverAuth],
    },
  });
  await approve(asked, options);
  const { name, resourceVersion } = asked.metadata;
  const changes = await client.watch(CertificateSigningRequest, {
    fieldSelector: `metadata.name=${name}`,
    ...(resourceVersion !== undefined && { resourceVersion }),
    timeoutSeconds: PATIENCE_SECONDS,
    signal,
  });
  for await (const { type, object } of changes) {
    const { certificate, conditions = [] } = object.status ?? {};
    const no = conditions.find((condition) => condition.type === "Denied" || condition.type === "Failed");
    if (no) throw new Error(`certificate request ${name} was refused: ${no.message || no.reason || no.type}`);
    if (type === "DELETED") throw new Error(`certificate request ${name} was deleted`);
    if (certificate) return Buffer.from(certificate, "base64").toString("utf8");
  }
  throw new Error(`certificate request ${name} was not signed within ${PATIENCE_SECONDS} s; approve it`);
}

/** Who may approve its own request does; otherwise somebody else has to. */
async function approve(
  request: CertificateSigningRequest,
  { client, clock, log, node }: ServingOptions,
): Promise<void> {
  const now = timestamp(clock.now());
  const condition = {
    type: "Approved",
    status: "True",
    reason: "NodeApproved",
    message: `node ${node} approved the certificate by which it serves logs`,
    lastUpdateTime: now,
    lastTransitionTime: now,
  } as const;
  try {
    await client.update(
      CertificateSigningRequest,
      { ...request, status: { ...request.status, conditions: [...(request.status?.conditions ?? []), condition] } },
      { subresource: "approval" },
    );
  } catch (error) {
    if (!isForbidden(error)) throw error;
    log.info("a certificate request waits for approval", { node, request: request.metadata.name });
  }
}
