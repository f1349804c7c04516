import type { KeyObject } from "node:crypto";
import { BoundedCache } from "#lib/bounded-cache";
import { readAlgorithm } from "./certificate.ts";
import { DerReader, onlyElement, readBytes, readOid, readSmallInteger } from "./der-reader.ts";
import { bitString, contextTag, element, integer, oid, sequence, set, Tag } from "./der-writer.ts";
import { PkiError } from "./error.ts";
import { type AlternativeNames, hasAlternativeNames, readExtensions, subjectAltName } from "./extensions.ts";
import {
  isSignedBy,
  type PrivateKey,
  publicKeyDer,
  readPrivateKey,
  readPublicKey,
  sign,
  signatureAlgorithm,
} from "./keys.ts";
import { readName, type Subject, type SubjectInput, writeName } from "./name.ts";
import { EXTENSION_REQUEST } from "./oids.ts";
import { firstBlock, pem, refuseDoubtful } from "./pem.ts";

/** What someone asks a certificate for, proven to come from the holder of the key. */
export interface CertificateRequest extends AlternativeNames {
  readonly subject: Subject;
  readonly publicKey: KeyObject;
}

export interface RequestDraft extends Partial<AlternativeNames> {
  readonly subject: SubjectInput;
  readonly key: PrivateKey;
}

const LABEL = "CERTIFICATE REQUEST";

/** A PKCS#10 request as PEM. */
export function createCertificateRequest(draft: RequestDraft): string {
  const key = readPrivateKey(draft.key);
  const extensions = hasAlternativeNames(draft) ? [sequence(subjectAltName(draft))] : [];
  const attributes = extensions.map((list) => sequence(oid(EXTENSION_REQUEST), set(list)));
  const body = sequence(
    integer(0),
    writeName(draft.subject),
    publicKeyDer(key),
    element(contextTag(0, true), ...attributes),
  );
  return pem(LABEL, sequence(body, signatureAlgorithm(key), bitString(sign(body, key))));
}

/** Whoever handles a request reads it several times within moments, and to check a signature is costly. */
const REMEMBERED = 256;
const read = new BoundedCache<CertificateRequest>(REMEMBERED);

/** Reads a PKCS#10 request and checks that its own key signed it. Throws PkiError. */
export function parseCertificateRequest(text: string): CertificateRequest {
  const known = read.get(text);
  if (known) return known;
  const request = parsed(text);
  read.set(text, request);
  return request;
}

function parsed(text: string): CertificateRequest {
  const what = "certificate request";
  const der = firstBlock(text, LABEL);
  refuseDoubtful(text, LABEL);
  const whole = new DerReader(onlyElement(der, what, Tag.sequence).content);
  const body = whole.next(what, Tag.sequence);
  const algorithm = readAlgorithm(whole);
  const signature = readBytes(whole.next("signature", Tag.bitString), "signature");
  whole.end(what);

  const fields = new DerReader(body.content);
  if (readSmallInteger(fields.next("version", Tag.integer), "version") !== 0) {
    throw new PkiError(`${what}: is not of version 1`);
  }
  const subject = readName(fields.next("subject", Tag.sequence).raw, "subject");
  const publicKey = readPublicKey(fields.next("public key", Tag.sequence).raw);
  const attributes = fields.optional("attributes", contextTag(0, true));
  fields.end(what);
  if (!isSignedBy(publicKey, algorithm, body.raw, signature)) {
    throw new PkiError(`${what}: is not signed by its own key`);
  }
  const { dnsNames, ipAddresses, emails, uris } = readExtensions(attributes && requestedExtensions(attributes.content));
  return { subject, publicKey, dnsNames, ipAddresses, emails, uris };
}

/** There is one list of them, or none: readers differ on which of several counts. */
function requestedExtensions(attributes: Buffer): Buffer | undefined {
  const what = "attribute";
  const list = new DerReader(attributes);
  let found: Buffer | undefined;
  while (!list.atEnd) {
    const attribute = list.enter(what, Tag.sequence);
    const type = readOid(attribute.next(what, Tag.oid), what);
    const values = attribute.enter(what, Tag.set);
    if (type !== EXTENSION_REQUEST) continue;
    if (found) throw new PkiError("requested extensions: are there twice");
    found = values.next("requested extensions", Tag.sequence).raw;
    values.end("requested extensions");
  }
  return found;
}
