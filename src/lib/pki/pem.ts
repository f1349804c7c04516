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
