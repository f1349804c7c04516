/**
 * The JSON of stored objects as bytes, made once: the log, the answer to a write, reads, lists, and watches with many
 * readers all ask for the same. Stored objects never change, so their bytes do not either.
 */
import { stringifyJson } from "#lib/json";

/** What was asked for lately is kept, up to this much, and as much again of what was asked for before that. */
const GENERATION_BYTES = 32 * 1024 * 1024;

let recent = new WeakMap<object, Buffer>();
let earlier = new WeakMap<object, Buffer>();
let recentBytes = 0;

/** Not to be changed: the next reader gets the same buffer. */
export function storedBytes(object: object): Buffer {
  const known = recent.get(object);
  if (known) return known;
  const bytes = earlier.get(object) ?? Buffer.from(stringifyJson(object));
  recentBytes += bytes.length;
  if (recentBytes > GENERATION_BYTES) {
    earlier = recent;
    recent = new WeakMap();
    recentBytes = bytes.length;
  }
  recent.set(object, bytes);
  return bytes;
}
