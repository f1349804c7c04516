import {
  DerReader,
  onlyElement,
  readAscii,
  readBoolean,
  readNamedBits,
  readOid,
  readSmallInteger,
} from "./der-reader.ts";
import { boolean, contextTag, element, namedBits, octetString, oid, sequence, Tag } from "./der-writer.ts";
import { PkiError } from "./error.ts";
import { addressBytes, addressText } from "./ip-address.ts";
import { Extension } from "./oids.ts";

/** What else than its subject a certificate speaks for. */
export interface AlternativeNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
}

/** What the extensions of a certificate or of a request say. */
export interface Extensions extends AlternativeNames {
  /** Absent where the extension is; a certificate without it is no authority. */
  readonly isAuthority: boolean;
  /** Bits of keyUsage; undefined where nothing is said, which allows everything. */
  readonly keyUsage: readonly number[] | undefined;
  /** Object identifiers; undefined where nothing is said, which allows everything. */
  readonly extendedKeyUsage: readonly string[] | undefined;
  readonly subjectKeyIdentifier: Buffer | undefined;
  readonly authorityKeyIdentifier: Buffer | undefined;
  /** Extensions that must be understood and are not. */
  readonly unknownCritical: readonly string[];
}

const SAN = { email: 1, dns: 2, uri: 6, ip: 7 } as const;

export function extension(id: string, value: Buffer, critical = false): Buffer {
  return sequence(oid(id), ...(critical ? [boolean(true)] : []), octetString(value));
}

export function basicConstraints(isAuthority: boolean): Buffer {
  return extension(Extension.basicConstraints, sequence(...(isAuthority ? [boolean(true)] : [])), true);
}

export function keyUsage(bits: readonly number[]): Buffer {
  return extension(Extension.keyUsage, namedBits(bits), true);
}

export function extendedKeyUsage(purposes: readonly string[]): Buffer {
  return extension(Extension.extendedKeyUsage, sequence(...purposes.map(oid)));
}

export function subjectKeyIdentifier(identifier: Buffer): Buffer {
  return extension(Extension.subjectKeyIdentifier, octetString(identifier));
}

export function authorityKeyIdentifier(identifier: Buffer): Buffer {
  return extension(Extension.authorityKeyIdentifier, sequence(element(contextTag(0, false), identifier)));
}

/** Critical where it is all that names the holder. */
export function subjectAltName(names: Partial<AlternativeNames>, critical = false): Buffer {
  const { dnsNames = [], emails = [], ipAddresses = [], uris = [] } = names;
  const value = sequence(
    ...dnsNames.map((name) => element(contextTag(SAN.dns, false), ascii(name))),
    ...emails.map((name) => element(contextTag(SAN.email, false), ascii(name))),
    ...ipAddresses.map((address) => element(contextTag(SAN.ip, false), addressBytes(address))),
    ...uris.map((name) => element(contextTag(SAN.uri, false), ascii(name))),
  );
  return extension(Extension.subjectAltName, value, critical);
}

export function hasAlternativeNames(names: Partial<AlternativeNames>): boolean {
  const { dnsNames = [], emails = [], ipAddresses = [], uris = [] } = names;
  return dnsNames.length + emails.length + ipAddresses.length + uris.length > 0;
}

/** Reads `Extensions ::= SEQUENCE OF Extension`, or nothing. */
export function readExtensions(raw: Buffer | undefined): Extensions {
  const values = new Map<string, Buffer>();
  const unknownCritical: string[] = [];
  const list = raw && new DerReader(onlyElement(raw, "extensions", Tag.sequence).content);
  while (list && !list.atEnd) {
    const item = list.enter("extension", Tag.sequence);
    const id = readOid(item.next("extension", Tag.oid), "extension");
    const flag = item.optional("extension", Tag.boolean);
    const { content } = item.next(`extension ${id}`, Tag.octetString);
    item.end(`extension ${id}`);
    if (values.has(id)) throw new PkiError(`extension ${id}: is there twice`);
    values.set(id, content);
    if (flag && readBoolean(flag, `extension ${id}`) && !UNDERSTOOD.has(id)) unknownCritical.push(id);
  }
  const read = <T>(id: string, reader: (value: Buffer) => T): T | undefined => {
    const value = values.get(id);
    return value && reader(value);
  };
  return {
    isAuthority: read(Extension.basicConstraints, readBasicConstraints) ?? false,
    keyUsage: read(Extension.keyUsage, readKeyUsage),
    extendedKeyUsage: read(Extension.extendedKeyUsage, readExtendedKeyUsage),
    subjectKeyIdentifier: read(Extension.subjectKeyIdentifier, readSubjectKeyIdentifier),
    authorityKeyIdentifier: read(Extension.authorityKeyIdentifier, readAuthorityKeyIdentifier),
    ...(read(Extension.subjectAltName, readAlternativeNames) ?? NO_NAMES),
    unknownCritical,
  };
}

const UNDERSTOOD = new Set<string>(Object.values(Extension));
const NO_NAMES: AlternativeNames = { dnsNames: [], ipAddresses: [], emails: [], uris: [] };

function readBasicConstraints(value: Buffer): boolean {
  const what = "basic constraints";
  const inner = new DerReader(onlyElement(value, what, Tag.sequence).content);
  const flag = inner.optional(what, Tag.boolean);
  const depth = inner.optional(what, Tag.integer);
  if (depth) readSmallInteger(depth, what);
  inner.end(what);
  return flag !== undefined && readBoolean(flag, what);
}

function readKeyUsage(value: Buffer): number[] {
  return readNamedBits(onlyElement(value, "key usage", Tag.bitString), "key usage");
}

function readExtendedKeyUsage(value: Buffer): string[] {
  const what = "extended key usage";
  const inner = new DerReader(onlyElement(value, what, Tag.sequence).content);
  const purposes: string[] = [];
  while (!inner.atEnd) purposes.push(readOid(inner.next(what, Tag.oid), what));
  return purposes;
}

function readSubjectKeyIdentifier(value: Buffer): Buffer {
  return onlyElement(value, "subject key identifier", Tag.octetString).content;
}

function readAuthorityKeyIdentifier(value: Buffer): Buffer | undefined {
  const what = "authority key identifier";
  return new DerReader(onlyElement(value, what, Tag.sequence).content).optional(what, contextTag(0, false))?.content;
}

function readAlternativeNames(value: Buffer): AlternativeNames {
  const what = "subject alternative name";
  const names = { dnsNames: [] as string[], ipAddresses: [] as string[], emails: [] as string[], uris: [] as string[] };
  const inner = new DerReader(onlyElement(value, what, Tag.sequence).content);
  while (!inner.atEnd) {
    const { tag, content } = inner.next(what);
    if (tag === contextTag(SAN.dns, false)) names.dnsNames.push(readAscii(content, what));
    else if (tag === contextTag(SAN.email, false)) names.emails.push(readAscii(content, what));
    else if (tag === contextTag(SAN.uri, false)) names.uris.push(readAscii(content, what));
    else if (tag === contextTag(SAN.ip, false)) names.ipAddresses.push(addressText(content));
  }
  return names;
}

function ascii(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  readAscii(bytes, `name "${text}"`);
  return bytes;
}
