/**
 * The JSON of stored objects as bytes, made once: the log, the answer to a write, reads, and watches with many readers
 * all ask for the same. Stored objects never change, so their bytes do not either.
 */
import { stringifyJson } from "#lib/json";
import { Generations } from "./generations.ts";

const known = new Generations<object, Buffer>(32 * 1024 * 1024, ({ length }) => length);

/** Not to be changed: the next reader gets the same buffer. */
export function storedBytes(object: object): Buffer {
  const bytes = known.get(object);
  if (bytes) return bytes;
  const made = Buffer.from(stringifyJson(object));
  known.set(object, made);
  return made;
}

/** For those who read everything once: what is not known is made, and not kept. */
export function passingBytes(object: object): Buffer {
  return known.peek(object) ?? Buffer.from(stringifyJson(object));
}
