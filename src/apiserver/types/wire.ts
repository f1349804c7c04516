/** The protobuf wire format: varints, lengths and tags, and nothing of what they mean. */
import { badRequest } from "../errors.ts";

export const WireType = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Seven bytes of a varint hold 49 bits, which a number adds up exactly; longer ones need BigInt. */
const EXACT_BYTES = 7;
const MAX_VARINT_BYTES = 10;

/** Reads one message; throws ApiError 400 where the bytes are not one. */
export class WireReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  get done(): boolean {
    return this.#at >= this.#end;
  }

  /** The number of the next field and how its value is written. */
  tag(): { number: number; wire: number } {
    const tag = this.#unsigned();
    const number = Math.floor(tag / 8);
    if (number === 0 || number > 2 ** 29 - 1) throw malformed(`illegal tag ${number}`);
    return { number, wire: tag % 8 };
  }

  /** A signed integer of up to 64 bits. */
  integer(): number | bigint {
    let low = 0;
    let factor = 1;
    for (let read = 0; read < EXACT_BYTES; read++) {
      const byte = this.#byte();
      low += (byte & 0x7f) * factor;
      if (byte < 0x80) return low;
      factor *= 128;
    }
    let value = BigInt(low);
    for (let read = EXACT_BYTES; read < MAX_VARINT_BYTES; read++) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << BigInt(read * 7);
      if (byte < 0x80) {
        const signed = BigInt.asIntN(64, value);
        const number = Number(signed);
        return Number.isSafeInteger(number) ? number : signed;
      }
    }
    throw malformed("integer overflow");
  }

  double(): number {
    const at = this.#advance(8);
    return new DataView(this.#bytes.buffer, this.#bytes.byteOffset + at, 8).getFloat64(0, true);
  }

  bytes(): Uint8Array {
    const length = this.#unsigned();
    const at = this.#advance(length);
    return this.#bytes.subarray(at, at + length);
  }

  string(): string {
    return decoder.decode(this.bytes());
  }

  message(): WireReader {
    const length = this.#unsigned();
    const at = this.#advance(length);
    return new WireReader(this.#bytes, at, at + length);
  }

  /** Passes over a field that we do not know. */
  skip(wire: number): void {
    if (wire === WireType.varint) this.integer();
    else if (wire === WireType.fixed64) this.#advance(8);
    else if (wire === WireType.bytes) this.message();
    else if (wire === WireType.fixed32) this.#advance(4);
    else throw malformed(`illegal wireType ${wire}`);
  }

  #unsigned(): number {
    const value = this.integer();
    if (typeof value === "bigint" || value < 0) throw malformed("integer overflow");
    return value;
  }

  #byte(): number {
    const byte = this.#at < this.#end ? this.#bytes[this.#at] : undefined;
    if (byte === undefined) throw malformed("unexpected EOF");
    this.#at++;
    return byte;
  }

  #advance(length: number): number {
    if (length > this.#end - this.#at) throw malformed("unexpected EOF");
    const at = this.#at;
    this.#at += length;
    return at;
  }
}

/** The error for bytes that are not the message they should be. */
export function malformed(why: string): Error {
  return badRequest(`the object provided is not valid protobuf: ${why}`);
}

/** Writes one message. */
export class WireWriter {
  #bytes = new Uint8Array(64);
  #length = 0;

  integer(number: number, value: number | bigint): void {
    this.#varint(number * 8 + WireType.varint);
    this.#varint(value);
  }

  double(number: number, value: number): void {
    this.#varint(number * 8 + WireType.fixed64);
    this.#reserve(8);
    new DataView(this.#bytes.buffer).setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  bytes(number: number, value: Uint8Array): void {
    this.#varint(number * 8 + WireType.bytes);
    this.#varint(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  string(number: number, value: string): void {
    this.bytes(number, encoder.encode(value));
  }

  message(number: number, write: (inner: WireWriter) => void): void {
    const inner = new WireWriter();
    write(inner);
    this.bytes(number, inner.finish());
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #varint(value: number | bigint): void {
    if (typeof value === "number" && value >= 0) {
      let rest = value;
      while (rest >= 0x80) {
        this.#byte((rest % 128) | 0x80);
        rest = Math.floor(rest / 128);
      }
      this.#byte(rest);
      return;
    }
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest >= 0x80n) {
      this.#byte(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    this.#byte(Number(rest));
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#length] = byte;
    this.#length++;
  }

  #reserve(room: number): void {
    const needed = this.#length + room;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}
