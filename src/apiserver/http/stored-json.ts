/** Answers out of the JSON of stored objects, which is known already: nothing is written twice. */
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { stringifyJson } from "#lib/json";
import type { Listed } from "../registry/index.ts";
import type { Resource } from "../resource.ts";
import { storedBytes } from "../store/index.ts";

/** A body that is JSON already. */
export class JsonBytes {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

const OPEN = 0x7b;
const COMMA = 0x2c;
const END = Buffer.from("]}");

/** A list of whole objects. */
export function listJson(listed: Listed, metadata: object, resource: Resource): JsonBytes {
  const head = stringifyJson({ kind: resource.listKind, apiVersion: apiVersionOf(resource), metadata }).slice(0, -1);
  const start = Buffer.from(`${head},"items":[`);
  const items = listed.items.map(resource.builtin ? untyped(resource) : whole);

  // Copied into one buffer of the right size: joining thousands of texts and encoding the result takes twice as long.
  let size = start.length + Math.max(0, items.length - 1) + END.length;
  for (const { bytes, skipped } of items) size += bytes.length - skipped;
  const list = Buffer.allocUnsafe(size);
  let at = start.copy(list);
  items.forEach(({ bytes, skipped }, index) => {
    if (index > 0) list[at++] = COMMA;
    const itemStart = at;
    at += bytes.copy(list, at, skipped);
    list[itemStart] = OPEN;
  });
  END.copy(list, at);
  return new JsonBytes(list);
}

interface Item {
  readonly bytes: Buffer;
  /** How many bytes are left out in front; the first of the rest stands where the opening brace will be. */
  readonly skipped: number;
}

function whole(object: DynamicObject): Item {
  return { bytes: storedBytes(object), skipped: 0 };
}

/** Built-in kinds leave out apiVersion and kind inside of lists: where the text begins with them, they are cut. */
function untyped(resource: Resource): (object: DynamicObject) => Item {
  const apiVersion = `"apiVersion":${JSON.stringify(apiVersionOf(resource))},`;
  const kind = `"kind":${JSON.stringify(resource.kind)},`;
  const openings = [Buffer.from(`{${kind}${apiVersion}`), Buffer.from(`{${apiVersion}${kind}`)];
  return (object) => {
    const bytes = storedBytes(object);
    for (const opening of openings) {
      // The comma at the end of the opening gives its place to the brace.
      if (startsWith(bytes, opening)) return { bytes, skipped: opening.length - 1 };
    }
    const { apiVersion: _a, kind: _k, ...rest } = object;
    return { bytes: Buffer.from(stringifyJson(rest)), skipped: 0 };
  };
}

function startsWith(bytes: Buffer, opening: Buffer): boolean {
  for (let at = 0; at < opening.length; at++) if (bytes[at] !== opening[at]) return false;
  return true;
}
