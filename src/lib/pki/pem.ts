import { PkiError } from "./error.ts";

export interface PemBlock {
  readonly label: string;
  readonly der: Buffer;
}

const BEGIN = "-----BEGIN ";
const DASHES = "-----";
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** DER in the armour that text formats carry, in lines of 64 characters. */
export function pem(label: string, der: Buffer): string {
  const lines = der.toString("base64").replace(/(.{64})(?=.)/g, "$1\n");
  return `${BEGIN}${label}${DASHES}\n${lines}\n-----END ${label}${DASHES}\n`;
}

/** Every block of the text in order; what stands between them is ignored. Throws PkiError for a broken block. */
export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  for (let at = text.indexOf(BEGIN); at >= 0; at = text.indexOf(BEGIN, at)) {
    const labelEnd = text.indexOf(DASHES, at + BEGIN.length);
    const label = labelEnd < 0 ? "" : text.slice(at + BEGIN.length, labelEnd);
    if (labelEnd < 0 || label.includes("\n")) throw new PkiError("PEM: the first line of a block is broken");
    const end = `-----END ${label}${DASHES}`;
    const bodyEnd = text.indexOf(end, labelEnd);
    if (bodyEnd < 0) throw new PkiError(`PEM: the block ${label} has no end`);
    const body = text.slice(labelEnd + DASHES.length, bodyEnd).replace(/\s+/g, "");
    if (!BASE64.test(body) || body.length % 4 !== 0) throw new PkiError(`PEM: the block ${label} is not base64`);
    blocks.push({ label, der: Buffer.from(body, "base64") });
    at = bodyEnd + end.length;
  }
  return blocks;
}

/** The first block of the text, which must have this label. */
export function firstBlock(text: string, label: string): Buffer {
  const [first] = pemBlocks(text);
  if (!first) throw new PkiError(`PEM: there is no ${label} block`);
  if (first.label !== label) throw new PkiError(`PEM: the block is ${first.label}, not ${label}`);
  return first.der;
}

/** A first line, and a last one, alone in their lines; what is between holds no other white space than readers skip. */
const PLAIN = /^-----BEGIN ([A-Z ]+)-----[ \t\r]*\n([A-Za-z0-9+/= \t\r\n]*)\n-----END \1-----[ \t\r]*(?:\n|$)/;

/**
 * Throws PkiError unless every reader takes the same block for the first. Some skip a block that is not quite right and
 * go on to the next: whoever judges by one and signs by the other could be made to sign what nobody has judged.
 */
export function refuseDoubtful(text: string, label: string): void {
  const at = text.indexOf("-----BEGIN");
  const isAtLineStart = at === 0 || text[at - 1] === "\n";
  const found = at >= 0 && isAtLineStart ? PLAIN.exec(text.slice(at)) : undefined;
  if (found?.[1] !== label) throw new PkiError(`PEM: readers may differ on what the ${label} is`);
}
