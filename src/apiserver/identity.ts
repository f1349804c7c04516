/**
 * Who a cluster is: its authority, its serving certificate, the key of its token issuer, its administrator and
 * its port. Made once at the first start and kept, because kubeconfigs, certificates and Secrets repeat it.
 */
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { createCertificateAuthority, generateKeyPair, issueCertificate } from "#lib/pki";

export interface Identity {
  readonly format: 1;
  readonly name: string;
  readonly port: number;
  readonly authority: KeyAndCertificate;
  readonly serving: KeyAndCertificate;
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

export function createIdentity(name: string, now: Date): IdentityDraft {
  const authority = createCertificateAuthority({ commonName: `capstan-${name}`, now, years: YEARS });
  const dates = { notBefore: new Date(now.getTime() - 5 * 60_000), notAfter: new Date(now) };
  dates.notAfter.setUTCFullYear(now.getUTCFullYear() + YEARS);
  const servingKey = generateKeyPair();
  const administratorKey = generateKeyPair();
  return {
    format: 1,
    name,
    authority,
    serving: {
      key: servingKey.privateKey,
      certificate: issueCertificate({
        ca: authority,
        subject: { commonName: "kube-apiserver" },
        publicKey: servingKey.publicKey,
        usages: ["digital signature", "key encipherment", "server auth"],
        dnsNames: SERVING_NAMES,
        ipAddresses: ["127.0.0.1", "::1", SERVICE_ADDRESS],
        ...dates,
      }),
    },
    administrator: {
      key: administratorKey.privateKey,
      certificate: issueCertificate({
        ca: authority,
        subject: { commonName: "capstan-admin", organizations: [GROUP_OF_ADMINISTRATORS] },
        publicKey: administratorKey.publicKey,
        usages: ["digital signature", "key encipherment", "client auth"],
        ...dates,
      }),
    },
    tokenKey: generateKeyPair().privateKey,
  };
}

export async function readIdentity(dir: string): Promise<Identity | undefined> {
  const file = join(dir, FILE);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const identity = parsed(file, text);
  if (identity.format !== 1) {
    throw new IdentityError(
      `${file} has format ${identity.format}, which this version of Capstan does not know; use the version that wrote it`,
    );
  }
  return identity;
}

function parsed(file: string, text: string): Identity {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new IdentityError(
      `${file} is damaged; restore it from a backup, or remove the cluster's folder to start anew`,
      { cause },
    );
  }
}

/** Whole or not at all, and readable by its owner only: it holds every key of the cluster. */
export async function writeIdentity(dir: string, identity: Identity): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const unfinished = join(dir, `${FILE}.${process.pid}`);
  const file = await open(unfinished, "w", 0o600);
  try {
    await file.writeFile(`${JSON.stringify(identity, undefined, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, join(dir, FILE));
}
