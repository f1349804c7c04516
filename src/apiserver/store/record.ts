/**
 * How the log is written: frames of length, checksum and text. A frame is one batch, acknowledged as a whole, so
 * that whatever a crash leaves of it is either everything or nothing. Its text is JSON lines: first what the batch
 * is, then one line for each change.
 */
import { crc32 } from "node:zlib";
import { isObject, parseJson } from "#lib/json";
import { storedBytes } from "./stored-bytes.ts";
import type { Stored, StoreEvent } from "./types.ts";

/** Four bytes of length, four of CRC-32, both little endian. */
const HEADER = 8;

export interface Batch {
  /** The newest revision before the batch; batches form a chain, so that a missing one is noticed. */
  readonly after: number;
  /** The last revision in the batch. */
  readonly to: number;
  /** When it was written, in milliseconds. */
  readonly at: number;
}

export interface Change {
  readonly revision: number;
  readonly resource: string;
  readonly key: string;
  /** Absent when the object was deleted. */
  readonly object?: Stored;
}

/** The end of an object in a line, and of the line. */
export const LINE_END = Buffer.from("}\n");

/** The line of the log that tells of an event. */
export function lineOf({ type, revision, resource, key, object }: StoreEvent): Buffer {
  const head = `{"revision":${revision},"resource":${JSON.stringify(resource)},"key":${JSON.stringify(key)}`;
  if (type === "DELETED") return Buffer.from(`${head}}\n`);
  return Buffer.concat([Buffer.from(`${head},"object":`), storedBytes(object), LINE_END]);
}

/** The frame of a batch, ready to be written. */
export function encodeFrame({ after, to, at }: Batch, lines: readonly Buffer[]): Buffer {
  const head = Buffer.from(`{"after":${after},"to":${to},"at":${at}}\n`);
  const frame = Buffer.concat([Buffer.alloc(HEADER), head, ...lines]);
  frame.writeUInt32LE(frame.length - HEADER, 0);
  frame.writeUInt32LE(crc32(frame.subarray(HEADER)), 4);
  return frame;
}

/** The text of the frame at `offset` and where the next begins; undefined when there is no whole frame. */
export function frameAt(log: Buffer, offset: number): { text: Buffer; end: number } | undefined {
  const start = offset + HEADER;
  if (start > log.length) return undefined;
  const length = log.readUInt32LE(offset);
  // Every text opens with a brace; asking for it first spares the checksum of bytes that are no frame. A run of
  // zeros, which a crash may leave behind, is no frame either.
  if (length === 0 || length > log.length - start || log[start] !== 0x7b) return undefined;
  const text = log.subarray(start, start + length);
  return crc32(text) === log.readUInt32LE(offset + 4) ? { text, end: start + length } : undefined;
}

/** Whether a whole frame begins anywhere after `offset`, at whatever byte. */
export function hasFrameAfter(log: Buffer, offset: number): boolean {
  for (let at = offset + 1; at + HEADER < log.length; at++) if (frameAt(log, at)) return true;
  return false;
}

/** Reads the text of a frame; throws SyntaxError when it is not what `encodeFrame` writes. */
export function decodeFrame(text: Buffer): { batch: Batch; lines: string[] } {
  const [head, ...lines] = text.toString("utf8").trimEnd().split("\n");
  const batch = parseJson(head ?? "");
  if (!isObject(batch)) throw new SyntaxError("the frame has no head");
  const { after, to, at } = batch;
  if (typeof after !== "number" || typeof to !== "number" || typeof at !== "number") {
    throw new SyntaxError("the head of the frame is incomplete");
  }
  return { batch: { after, to, at }, lines };
}

/** Reads one line of a frame; throws SyntaxError when it is not what `lineOf` writes. */
export function decodeChange(line: string): Change {
  const change = parseJson(line);
  if (!isObject(change)) throw new SyntaxError("a change is not an object");
  const { revision, resource, key, object } = change;
  if (typeof revision !== "number" || typeof resource !== "string" || typeof key !== "string") {
    throw new SyntaxError("a change is incomplete");
  }
  if (object === undefined) return { revision, resource, key };
  if (!isStored(object)) throw new SyntaxError("a change holds no object");
  return { revision, resource, key, object };
}

/** Whether a parsed value has what the store itself needs of an object. */
export function isStored(value: unknown): value is Stored {
  return isObject(value) && isObject(value.metadata);
}
