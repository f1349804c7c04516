import { DerReader, onlyElement, readOid, readText } from "./der-reader.ts";
import { oid, sequence, set, Tag, utf8String } from "./der-writer.ts";
import { Attribute } from "./oids.ts";

/** Who a certificate is about. */
export interface Subject {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly organizationalUnits: readonly string[];
  /** The object identifiers of all attributes, in the order in which they were written, those above among them. */
  readonly attributes: readonly string[];
  /** The whole name as it was written, with the attributes that have no place above. */
  readonly raw: Buffer;
}

/** A subject as one writes it down, or the bytes of one that was read. */
export type SubjectInput =
  | {
      readonly commonName?: string;
      readonly organizations?: readonly string[];
      readonly organizationalUnits?: readonly string[];
    }
  | { readonly raw: Buffer };

/** The name in DER, every value in a part of its own. */
export function writeName(subject: SubjectInput): Buffer {
  if ("raw" in subject) return subject.raw;
  const { commonName, organizations = [], organizationalUnits = [] } = subject;
  return sequence(
    ...organizations.map((value) => namePart(Attribute.organization, value)),
    ...organizationalUnits.map((value) => namePart(Attribute.organizationalUnit, value)),
    ...(commonName ? [namePart(Attribute.commonName, commonName)] : []),
  );
}

/** Reads a name; a part may hold several values (`O=a + O=b`), as Go writes them. */
export function readName(raw: Buffer, what: string): Subject {
  const values = new Map<string, string[]>();
  const types: string[] = [];
  const parts = new DerReader(onlyElement(raw, what, Tag.sequence).content);
  while (!parts.atEnd) {
    const attributes = parts.enter(what, Tag.set);
    while (!attributes.atEnd) {
      const attribute = attributes.enter(what, Tag.sequence);
      const type = readOid(attribute.next(what, Tag.oid), what);
      const value = attribute.next(what);
      attribute.end(what);
      types.push(type);
      if (!KNOWN.has(type)) continue;
      const sofar = values.get(type);
      if (sofar) sofar.push(readText(value, what));
      else values.set(type, [readText(value, what)]);
    }
  }
  return {
    // With several common names the last one counts, as in Go.
    commonName: values.get(Attribute.commonName)?.at(-1) ?? "",
    organizations: values.get(Attribute.organization) ?? [],
    organizationalUnits: values.get(Attribute.organizationalUnit) ?? [],
    attributes: types,
    raw,
  };
}

const KNOWN = new Set<string>(Object.values(Attribute));

function namePart(type: string, value: string): Buffer {
  return set(sequence(oid(type), utf8String(value)));
}
