/** Writes DER: every function answers one complete element. */

export const Tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  teletexString: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const;

/** The tag of `[number]`, with inner elements or with plain content. */
export function contextTag(number: number, constructed: boolean): number {
  return (constructed ? 0xa0 : 0x80) | number;
}

export function element(tag: number, ...parts: readonly Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(length)]), ...parts]);
}

export function sequence(...parts: readonly Buffer[]): Buffer {
  return element(Tag.sequence, ...parts);
}

/** DER wants the members of a set in the order of their bytes. */
export function set(...parts: readonly Buffer[]): Buffer {
  return element(Tag.set, ...parts.toSorted(Buffer.compare));
}

export function boolean(value: boolean): Buffer {
  return element(Tag.boolean, Buffer.from([value ? 0xff : 0x00]));
}

/** A non-negative integer, from its bytes (most significant first) or a small number. */
export function integer(value: Buffer | number): Buffer {
  let bytes = typeof value === "number" ? Buffer.from(value.toString(16).padStart(2, "0"), "hex") : value;
  while (bytes.length > 1 && bytes[0] === 0) bytes = bytes.subarray(1);
  // The top bit is the sign: a zero byte before it keeps the number positive.
  return element(Tag.integer, ...((bytes[0] ?? 0) >= 0x80 ? [Buffer.from([0])] : []), bytes);
}

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return element(Tag.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

export function nullElement(): Buffer {
  return element(Tag.null);
}

export function octetString(content: Buffer): Buffer {
  return element(Tag.octetString, content);
}

export function bitString(content: Buffer, unusedBits = 0): Buffer {
  return element(Tag.bitString, Buffer.from([unusedBits]), content);
}

/** Bit 0 is the most significant one; trailing zero bits are left out, as DER wants for named bits. */
export function namedBits(bits: readonly number[]): Buffer {
  const highest = Math.max(-1, ...bits);
  const content = Buffer.alloc(Math.floor(highest / 8) + 1);
  for (const bit of bits) content[bit >> 3] = (content[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  return bitString(content, highest < 0 ? 0 : 7 - (highest & 7));
}

export function utf8String(text: string): Buffer {
  return element(Tag.utf8String, Buffer.from(text, "utf8"));
}

/** UTCTime has two digits for the year and ends with 2049; from 2050 on it is GeneralizedTime (RFC 5280). */
export function time(date: Date): Buffer {
  const digits = `${date
    .toISOString()
    .replace(/\.\d+Z$/, "")
    .replace(/[-:T]/g, "")}Z`;
  const year = date.getUTCFullYear();
  return year >= 1950 && year < 2050
    ? element(Tag.utcTime, Buffer.from(digits.slice(2)))
    : element(Tag.generalizedTime, Buffer.from(digits));
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}

function base128(value: number): number[] {
  const bytes = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128));
  return bytes;
}
