import { type KeyObject, randomBytes } from "node:crypto";
import { CERTIFICATE_LABEL, type Certificate, parseCertificate } from "./certificate.ts";
import { bitString, contextTag, element, integer, sequence, time } from "./der-writer.ts";
import {
  type AlternativeNames,
  authorityKeyIdentifier,
  basicConstraints,
  extendedKeyUsage,
  hasAlternativeNames,
  keyUsage,
  subjectAltName,
  subjectKeyIdentifier,
} from "./extensions.ts";
import {
  generateKey,
  keyIdentifier,
  type PublicKey,
  publicKeyDer,
  readPrivateKey,
  sign,
  signatureAlgorithm,
} from "./keys.ts";
import { type SubjectInput, writeName } from "./name.ts";
import { pem } from "./pem.ts";
import { type CertificateUsage, extendedKeyUsages, keyUsageBits } from "./usages.ts";

/** What signs certificates, in the form in which it is kept. */
export interface CertificateAuthority {
  /** The authority's own certificate, PEM. */
  readonly certificate: string;
  /** Its private key, PEM. */
  readonly key: string;
}

export interface AuthorityRequest {
  readonly commonName: string;
  readonly now: Date;
  /** Ten unless told. */
  readonly years?: number;
  /** When it ends, where years are too coarse. */
  readonly notAfter?: Date;
  /** The authority's private key; a fresh ECDSA P-256 key without it. */
  readonly key?: string;
}

export interface CertificateOrder extends Partial<AlternativeNames> {
  readonly ca: CertificateAuthority;
  /** The name as text, or the bytes of a request's name, which are copied as they are. */
  readonly subject: SubjectInput;
  readonly publicKey: PublicKey;
  readonly usages: readonly CertificateUsage[];
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const DEFAULT_YEARS = 10;
/** Clocks differ a little; what is issued now must be valid for a reader whose clock is behind. */
const BACKDATE_MS = 5 * 60 * 1000;
const VERSION_3 = 2;

/** A new authority with a self-signed certificate. */
export function createCertificateAuthority(request: AuthorityRequest): CertificateAuthority {
  const { commonName, now, years = DEFAULT_YEARS } = request;
  const notAfter = new Date(request.notAfter ?? now);
  if (!request.notAfter) notAfter.setUTCFullYear(now.getUTCFullYear() + years);
  const { pem: key, privateKey } =
    request.key === undefined ? generateKey() : { pem: request.key, privateKey: readPrivateKey(request.key) };
  const spki = publicKeyDer(privateKey);
  const identifier = keyIdentifier(spki);
  const name = writeName({ commonName });
  const certificate = signCertificate({
    issuer: name,
    subject: name,
    spki,
    notBefore: new Date(now.getTime() - BACKDATE_MS),
    notAfter,
    key: privateKey,
    extensions: [
      keyUsage(keyUsageBits(["digital signature", "key encipherment", "cert sign"])),
      basicConstraints(true),
      subjectKeyIdentifier(identifier),
      authorityKeyIdentifier(identifier),
    ],
  });
  const authority = { certificate, key };
  signers.set(authority, { certificate: parseCertificate(certificate), privateKey, identifier });
  return authority;
}

/** A certificate of the authority with a random serial number, as PEM. It never outlives the authority. */
export function issueCertificate(order: CertificateOrder): string {
  const { certificate, privateKey, identifier } = signerOf(order.ca);
  const spki = publicKeyDer(order.publicKey);
  const subject = writeName(order.subject);
  const bits = keyUsageBits(order.usages);
  const purposes = extendedKeyUsages(order.usages);
  return signCertificate({
    issuer: certificate.subject.raw,
    subject,
    spki,
    notBefore: order.notBefore,
    notAfter: new Date(Math.min(order.notAfter.getTime(), certificate.notAfter.getTime())),
    key: privateKey,
    extensions: [
      ...(bits.length > 0 ? [keyUsage(bits)] : []),
      ...(purposes.length > 0 ? [extendedKeyUsage(purposes)] : []),
      basicConstraints(false),
      subjectKeyIdentifier(keyIdentifier(spki)),
      authorityKeyIdentifier(identifier),
      ...(hasAlternativeNames(order) ? [subjectAltName(order, subject.equals(EMPTY_NAME))] : []),
    ],
  });
}

const EMPTY_NAME = sequence();

interface Signer {
  readonly certificate: Certificate;
  readonly privateKey: KeyObject;
  readonly identifier: Buffer;
}

/** Reading keys costs more than signing; an authority is read once for as long as someone holds it. */
const signers = new WeakMap<CertificateAuthority, Signer>();

function signerOf(ca: CertificateAuthority): Signer {
  const known = signers.get(ca);
  if (known) return known;
  const certificate = parseCertificate(ca.certificate);
  const identifier = certificate.subjectKeyIdentifier ?? keyIdentifier(certificate.publicKeyInfo);
  const signer = { certificate, privateKey: readPrivateKey(ca.key), identifier };
  signers.set(ca, signer);
  return signer;
}

interface Draft {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly spki: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly key: KeyObject;
  readonly extensions: readonly Buffer[];
}

function signCertificate(draft: Draft): string {
  const algorithm = signatureAlgorithm(draft.key);
  const body = sequence(
    element(contextTag(0, true), integer(VERSION_3)),
    integer(randomSerial()),
    algorithm,
    draft.issuer,
    sequence(time(draft.notBefore), time(draft.notAfter)),
    draft.subject,
    draft.spki,
    element(contextTag(3, true), sequence(...draft.extensions)),
  );
  return pem(CERTIFICATE_LABEL, sequence(body, algorithm, bitString(sign(body, draft.key))));
}

/** Positive and never zero: 126 random bits below a one. */
function randomSerial(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}
