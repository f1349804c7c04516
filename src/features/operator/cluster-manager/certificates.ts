/**
 * By what the programs of the webhooks prove who they are: an authority, what each of them shows, and whom API servers
 * trust. Everything is replaced when four fifths of its life are over, and an authority is trusted until it ends, so that
 * nobody ever meets a certificate that they cannot verify.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import {
  type Certificate,
  createCertificateAuthority,
  generateKeyPair,
  issueCertificate,
  PkiError,
  parseCertificate,
  parseCertificates,
  pem,
} from "#lib/pki";

/** PEM. */
export interface KeptPair {
  readonly certificate: string;
  readonly key: string;
}

export interface KeptCertificates<Name extends string> {
  readonly signer: KeptPair | undefined;
  /** PEM of all authorities that are trusted. */
  readonly bundle: string;
  readonly serving: Readonly<Partial<Record<Name, KeptPair>>>;
}

export interface RenewedCertificates<Name extends string> {
  readonly signer: KeptPair;
  readonly bundle: string;
  readonly serving: Readonly<Record<Name, KeptPair>>;
  /** When the next of them is due. */
  readonly due: Date;
}

const DAY_MS = 24 * 3600 * 1000;
const SIGNER_LIFE_MS = 365 * DAY_MS;
const SERVING_LIFE_MS = 30 * DAY_MS;
const RENEWAL_SHARE = 0.8;
/** A reader's clock may be a little behind ours. */
const BACKDATE_MS = 5 * 60 * 1000;
/** Every one of them is reached through its Service, or on its own machine. */
const OWN_MACHINE = { dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"] };

/** What is still good is the same as before. `hosts` are the names of the Services. */
export function renewed<Name extends string>(
  kept: KeptCertificates<Name>,
  hosts: Readonly<Record<Name, string>>,
  now: Date,
): RenewedCertificates<Name> {
  const known = kept.signer && readPair(kept.signer);
  const signer = kept.signer && known?.isAuthority && isFresh(known, now) ? kept.signer : newSigner(now);
  const authority = parseCertificate(signer.certificate);
  const trusted = [authority, ...readAll(kept.bundle)]
    .filter(({ der }, index, all) => all.findIndex((each) => each.der.equals(der)) === index)
    .filter(({ isAuthority, notAfter }) => isAuthority && notAfter > now)
    .sort((a, b) => b.notBefore.getTime() - a.notBefore.getTime());
  const bundle = trusted.map(({ der }) => pem("CERTIFICATE", der)).join("");

  const names = Object.keys(hosts) as Name[];
  const pairs = names.map((name) => {
    const before = kept.serving[name];
    const shown = before && readPair(before);
    const isGood =
      shown && isFresh(shown, now) && hasNames(shown, hosts[name]) && trusted.some((each) => isIssuer(each, shown));
    return [name, before && isGood ? before : newServing(signer, hosts[name], now)] as const;
  });
  const serving = Object.fromEntries(pairs) as Record<Name, KeptPair>;
  const dues = [
    ...[authority, ...pairs.map(([, pair]) => parseCertificate(pair.certificate))].map(dueAt),
    ...trusted.map(({ notAfter }) => notAfter.getTime()),
  ];
  return { signer, bundle, serving, due: new Date(Math.min(...dues)) };
}

function newSigner(now: Date): KeptPair {
  const commonName = `cluster-manager-webhook@${Math.floor(now.getTime() / 1000)}`;
  return createCertificateAuthority({ commonName, now, notAfter: new Date(now.getTime() + SIGNER_LIFE_MS) });
}

function newServing(ca: KeptPair, host: string, now: Date): KeptPair {
  const { publicKey, privateKey } = generateKeyPair();
  const certificate = issueCertificate({
    ca,
    subject: { commonName: host },
    publicKey,
    usages: ["digital signature", "key encipherment", "server auth"],
    dnsNames: [host, ...OWN_MACHINE.dnsNames],
    ipAddresses: OWN_MACHINE.ipAddresses,
    notBefore: new Date(now.getTime() - BACKDATE_MS),
    notAfter: new Date(now.getTime() + SERVING_LIFE_MS),
  });
  return { certificate, key: privateKey };
}

/** Undefined for what cannot be used: somebody has written something else there. */
function readPair({ certificate, key }: KeptPair): Certificate | undefined {
  try {
    const read = parseCertificate(certificate);
    return new X509Certificate(read.der).checkPrivateKey(createPrivateKey(key)) ? read : undefined;
  } catch {
    return undefined;
  }
}

function readAll(bundle: string): Certificate[] {
  try {
    return parseCertificates(bundle);
  } catch (error) {
    if (error instanceof PkiError) return [];
    throw error;
  }
}

function isFresh(certificate: Certificate, now: Date): boolean {
  return certificate.notBefore <= now && now.getTime() < dueAt(certificate);
}

function dueAt({ notBefore, notAfter }: Certificate): number {
  return notBefore.getTime() + RENEWAL_SHARE * (notAfter.getTime() - notBefore.getTime());
}

function hasNames({ dnsNames, ipAddresses }: Certificate, host: string): boolean {
  const said = [...dnsNames, ...ipAddresses].sort();
  const wished = [host, ...OWN_MACHINE.dnsNames, ...OWN_MACHINE.ipAddresses].sort();
  return said.join() === wished.join();
}

function isIssuer(authority: Certificate, certificate: Certificate): boolean {
  return (
    authority.subject.raw.equals(certificate.issuer.raw) &&
    new X509Certificate(certificate.der).verify(authority.publicKey)
  );
}
