/**
 * Who a cluster is: its authority, its serving certificate, the key of its token issuer, its administrator and
 * its port. Made once at the first start and kept, because kubeconfigs, certificates and Secrets repeat it.
 */
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { createCertificateAuthority, generateKey, issueCertificate } from "#lib/pki";

export interface Identity {
  readonly format: 1;
  readonly name: string;
  readonly port: number;
  readonly authority: KeyAndCertificate;
  /** Absent where many clusters share a port. */
  readonly serving?: KeyAndCertificate;
  readonly administrator: KeyAndCertificate;
  /** PEM of the private key that signs service-account tokens. */
  readonly tokenKey: string;
}

export interface KeyAndCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** The identity cannot be used as it is on disk. The message says what to do. */
export class IdentityError extends Error {
  override readonly name = "IdentityError";
}

const FILE = "identity.json";
const YEARS = 10;
const GROUP_OF_ADMINISTRATORS = "system:masters";
/** The address of the Service `default/kubernetes`: the first of the service range. */
export const SERVICE_ADDRESS = "10.96.0.1";

const SERVING_NAMES = [
  "localhost",
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
];

/** Everything but the port, which is known when it has been bound. */
export type IdentityDraft = Omit<Identity, "port">;

export function createIdentity(name: string, now: Date, { sharesPort = false } = {}): IdentityDraft {
  const authority = createCertificateAuthority({ commonName: `capstan-${name}`, now, years: YEARS });
  return {
    format: 1,
    name,
    authority,
    ...(!sharesPort && { serving: servingIdentity(authority, now) }),
    administrator: clientIdentity(
      authority,
      { commonName: "capstan-admin", organizations: [GROUP_OF_ADMINISTRATORS] },
      now,
    ),
    tokenKey: generateKey().pem,
  };
}

/** A key, and the certificate that a port of this machine shows. */
export function servingIdentity(authority: KeyAndCertificate, now: Date): KeyAndCertificate {
  const { pem, publicKey } = generateKey();
  const certificate = issueCertificate({
    ca: authority,
    subject: { commonName: "kube-apiserver" },
    publicKey,
    usages: ["digital signature", "key encipherment", "server auth"],
    dnsNames: SERVING_NAMES,
    ipAddresses: ["127.0.0.1", "::1", SERVICE_ADDRESS],
    ...validity(now),
  });
  return { certificate, key: pem };
}

/** A key, and the certificate by which its holder is known to the cluster under this name and in these groups. */
export function clientIdentity(
  authority: KeyAndCertificate,
  subject: { readonly commonName: string; readonly organizations: readonly string[] },
  now: Date,
): KeyAndCertificate {
  const { pem, publicKey } = generateKey();
  const certificate = issueCertificate({
    ca: authority,
    subject,
    publicKey,
    usages: ["digital signature", "key encipherment", "client auth"],
    ...validity(now),
  });
  return { certificate, key: pem };
}

function validity(now: Date): { notBefore: Date; notAfter: Date } {
  const notAfter = new Date(now);
  notAfter.setUTCFullYear(now.getUTCFullYear() + YEARS);
  return { notBefore: new Date(now.getTime() - 5 * 60_000), notAfter };
}

export function readIdentity(dir: string): Promise<Identity | undefined> {
  return readKept<Identity>(join(dir, FILE));
}

export async function writeIdentity(dir: string, identity: Identity): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await writeKept(join(dir, FILE), identity);
}

/** What was kept in the file; undefined when there is none. Throws IdentityError when it cannot be used. */
export async function readKept<T extends { readonly format: 1 }>(file: string): Promise<T | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const kept = parsed(file, text) as T;
  if (kept.format !== 1) {
    throw new IdentityError(
      `${file} has format ${kept.format}, which this version of Capstan does not know; use the version that wrote it`,
    );
  }
  return kept;
}

function parsed(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new IdentityError(`${file} is damaged; restore it from a backup, or remove the folder to start anew`, {
      cause,
    });
  }
}

/** Whole or not at all, and readable by its owner only, because it holds keys. */
export async function writeKept<T extends { readonly format: 1 }>(path: string, value: T): Promise<void> {
  const unfinished = `${path}.${process.pid}`;
  const file = await open(unfinished, "w", 0o600);
  try {
    await file.writeFile(`${JSON.stringify(value, undefined, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
}
