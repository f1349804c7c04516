import { Tag } from "./der-writer.ts";
import { PkiError } from "./error.ts";

/** One element of DER: where it lies as a whole, and what is inside. */
export interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** Tag, length and content: what is signed, compared and copied. */
  readonly raw: Buffer;
}

/** The longest input that is looked at; certificates and requests are a hundred times smaller. */
const LONGEST_INPUT = 256 * 1024;

/**
 * Reads elements one after the other. It never recurses and moves forward with every element, so that
 * hostile input costs no more than its length. Everything that is not DER is a PkiError.
 */
export class DerReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** The tag of the next element, without taking it. */
  peek(): number | undefined {
    return this.#bytes[this.#at];
  }

  next(what: string, tag?: number): Element {
    const start = this.#at;
    const found = this.#byte(what);
    if (tag !== undefined && found !== tag) {
      throw new PkiError(`${what}: found tag 0x${found.toString(16)} where 0x${tag.toString(16)} belongs`);
    }
    if ((found & 0x1f) === 0x1f) throw new PkiError(`${what}: tags above 30 are not used here`);
    const length = this.#length(what);
    const begin = this.#at;
    if (length > this.#bytes.length - begin) throw new PkiError(`${what}: ends before its announced length`);
    this.#at = begin + length;
    return {
      tag: found,
      content: this.#bytes.subarray(begin, this.#at),
      raw: this.#bytes.subarray(start, this.#at),
    };
  }

  /** The next element if it has this tag. */
  optional(what: string, tag: number): Element | undefined {
    return this.peek() === tag ? this.next(what, tag) : undefined;
  }

  /** A reader of what is inside the next element. */
  enter(what: string, tag: number): DerReader {
    return new DerReader(this.next(what, tag).content);
  }

  end(what: string): void {
    if (!this.atEnd) throw new PkiError(`${what}: has more than it should`);
  }

  #byte(what: string): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new PkiError(`${what}: is missing`);
    this.#at++;
    return byte;
  }

  #length(what: string): number {
    const first = this.#byte(what);
    if (first < 0x80) return first;
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw new PkiError(`${what}: has a length that DER does not allow`);
    let length = 0;
    for (let i = 0; i < count; i++) length = length * 256 + this.#byte(what);
    if (length < 0x80 || length < 256 ** (count - 1)) throw new PkiError(`${what}: has a length that is not minimal`);
    return length;
  }
}

/** The only element of `bytes`, which must have this tag and nothing after it. */
export function onlyElement(bytes: Buffer, what: string, tag: number): Element {
  if (bytes.length > LONGEST_INPUT) throw new PkiError(`${what}: is longer than ${LONGEST_INPUT} bytes`);
  const reader = new DerReader(bytes);
  const found = reader.next(what, tag);
  reader.end(what);
  return found;
}

export function readOid({ content }: Element, what: string): string {
  if (content.length === 0 || content.length > 64) throw new PkiError(`${what}: is no object identifier`);
  const numbers: number[] = [];
  let value = 0;
  for (const [index, byte] of content.entries()) {
    if (value > Number.MAX_SAFE_INTEGER / 256) throw new PkiError(`${what}: has a number too large`);
    value = value * 128 + (byte & 0x7f);
    if (byte >= 0x80) {
      if (index === content.length - 1) throw new PkiError(`${what}: is cut off`);
      continue;
    }
    if (numbers.length === 0) {
      const first = Math.min(2, Math.floor(value / 40));
      numbers.push(first, value - first * 40);
    } else numbers.push(value);
    value = 0;
  }
  return numbers.join(".");
}

/** The content of a bit string whose bits fill whole bytes: keys and signatures. */
export function readBytes({ content }: Element, what: string): Buffer {
  if (content[0] !== 0) throw new PkiError(`${what}: is no string of whole bytes`);
  return content.subarray(1);
}

/** The numbers of the bits that are set. */
export function readNamedBits({ content }: Element, what: string): number[] {
  const unused = content[0];
  if (unused === undefined || unused > 7 || content.length > 9) throw new PkiError(`${what}: is no list of bits`);
  const bits: number[] = [];
  for (let bit = 0; bit < (content.length - 1) * 8 - unused; bit++) {
    if (((content[1 + (bit >> 3)] ?? 0) & (0x80 >> (bit & 7))) !== 0) bits.push(bit);
  }
  return bits;
}

export function readBoolean({ content }: Element, what: string): boolean {
  const [value] = content;
  if (content.length !== 1 || (value !== 0 && value !== 0xff)) throw new PkiError(`${what}: is no boolean`);
  return value === 0xff;
}

/** A small non-negative integer, such as a version or a path length. */
export function readSmallInteger({ content }: Element, what: string): number {
  const [first] = content;
  if (first === undefined || content.length > 4 || first >= 0x80) throw new PkiError(`${what}: is no small number`);
  return content.readUIntBE(0, content.length);
}

/** Text in any of the forms that names are written in. */
export function readText({ tag, content }: Element, what: string): string {
  switch (tag) {
    case Tag.utf8String: {
      const text = content.toString("utf8");
      if (!Buffer.from(text, "utf8").equals(content)) throw new PkiError(`${what}: is not valid UTF-8`);
      return text;
    }
    case Tag.printableString:
    case Tag.ia5String:
      return readAscii(content, what);
    case Tag.teletexString:
      return content.toString("latin1");
    case Tag.bmpString:
      if (content.length % 2 !== 0) throw new PkiError(`${what}: is cut off`);
      return Buffer.from(content).swap16().toString("utf16le");
    default:
      throw new PkiError(`${what}: is no text`);
  }
}

export function readAscii(content: Buffer, what: string): string {
  if (content.some((byte) => byte >= 0x80)) throw new PkiError(`${what}: is not plain ASCII`);
  return content.toString("latin1");
}

const UTC_TIME = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;
const GENERALIZED_TIME = /^(\d\d\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;

export function readTime({ tag, content }: Element, what: string): Date {
  const pattern = tag === Tag.utcTime ? UTC_TIME : tag === Tag.generalizedTime ? GENERALIZED_TIME : undefined;
  const match = pattern?.exec(content.toString("latin1"));
  if (!match) throw new PkiError(`${what}: is no time`);
  const [year = 0, month = 0, ...rest] = match.slice(1).map(Number);
  const [day = 0, hour = 0, minute = 0, second = 0] = rest;
  const fullYear = tag === Tag.utcTime ? year + (year < 50 ? 2000 : 1900) : year;
  const date = new Date(0);
  date.setUTCFullYear(fullYear, month - 1, day);
  date.setUTCHours(hour, minute, second);
  // A day that does not exist rolls over into another one.
  const same = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && date.getUTCSeconds() === second;
  if (!same || hour > 23 || minute > 59) throw new PkiError(`${what}: is no time that exists`);
  return date;
}
