import type { KeyObject } from "node:crypto";
import { DerReader, onlyElement, readBytes, readOid, readSmallInteger, readTime } from "./der-reader.ts";
import { contextTag, Tag } from "./der-writer.ts";
import { PkiError } from "./error.ts";
import { type Extensions, readExtensions } from "./extensions.ts";
import { checkPublicKeyInfo, readPublicKey } from "./keys.ts";
import { readName, type Subject } from "./name.ts";
import { firstBlock, pemBlocks } from "./pem.ts";

/** An X.509 certificate, read. */
export interface Certificate extends Extensions {
  readonly der: Buffer;
  /** The serial number in hexadecimal. */
  readonly serial: string;
  readonly issuer: Subject;
  readonly subject: Subject;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Read when it is asked for first, which most never do: that takes longer than all the rest. Throws PkiError. */
  readonly publicKey: KeyObject;
  /** The same as PKIX DER. */
  readonly publicKeyInfo: Buffer;
  /** The part that is signed, with what and how. */
  readonly signed: Signed;
}

export interface Signed {
  readonly data: Buffer;
  readonly algorithm: string;
  readonly signature: Buffer;
}

export const CERTIFICATE_LABEL = "CERTIFICATE";
const VERSION_3 = 2;

/** Reads one certificate: DER, or PEM whose first block it is. Throws PkiError. */
export function parseCertificate(input: string | Buffer): Certificate {
  const der = typeof input === "string" ? firstBlock(input, CERTIFICATE_LABEL) : input;
  const whole = new DerReader(onlyElement(der, "certificate", Tag.sequence).content);
  const body = whole.next("certificate body", Tag.sequence);
  const algorithm = readAlgorithm(whole);
  const signature = readBytes(whole.next("signature", Tag.bitString), "signature");
  whole.end("certificate");

  const fields = new DerReader(body.content);
  const version = fields.optional("version", contextTag(0, true));
  if (!version || readVersion(version.content) !== VERSION_3) throw new PkiError("certificate: is not of version 3");
  const serial = fields.next("serial number", Tag.integer).content.toString("hex");
  if (serial === "" || serial.length > 42) throw new PkiError("serial number: is empty or too long");
  if (readAlgorithm(fields) !== algorithm) throw new PkiError("certificate: names two signature algorithms");
  const issuer = readName(fields.next("issuer", Tag.sequence).raw, "issuer");
  const validity = fields.enter("validity", Tag.sequence);
  const notBefore = readTime(validity.next("validity"), "validity");
  const notAfter = readTime(validity.next("validity"), "validity");
  validity.end("validity");
  const subject = readName(fields.next("subject", Tag.sequence).raw, "subject");
  const publicKeyInfo = fields.next("public key", Tag.sequence).raw;
  checkPublicKeyInfo(publicKeyInfo);
  fields.optional("issuer identifier", contextTag(1, false));
  fields.optional("subject identifier", contextTag(2, false));
  const extensions = readExtensions(fields.optional("extensions", contextTag(3, true))?.content);
  fields.end("certificate body");

  let publicKey: KeyObject | undefined;
  return {
    der,
    serial,
    issuer,
    subject,
    notBefore,
    notAfter,
    publicKeyInfo,
    get publicKey() {
      publicKey ??= readPublicKey(publicKeyInfo);
      return publicKey;
    },
    ...extensions,
    signed: { data: body.raw, algorithm, signature },
  };
}

/** Every certificate of a PEM bundle, in order. */
export function parseCertificates(bundle: string): Certificate[] {
  return pemBlocks(bundle)
    .filter(({ label }) => label === CERTIFICATE_LABEL)
    .map(({ der }) => parseCertificate(der));
}

/** The identifier of an AlgorithmIdentifier; its parameters say nothing for the algorithms we know. */
export function readAlgorithm(reader: DerReader): string {
  const algorithm = reader.enter("signature algorithm", Tag.sequence);
  return readOid(algorithm.next("signature algorithm", Tag.oid), "signature algorithm");
}

function readVersion(content: Buffer): number {
  return readSmallInteger(onlyElement(content, "version", Tag.integer), "version");
}
