/** Answers out of the JSON of stored objects, which is known already: nothing is written twice. */
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { stringifyJson } from "#lib/json";
import type { Listed } from "../registry/index.ts";
import type { Resource } from "../resource.ts";
import { Generations, passingBytes } from "../store/index.ts";

/** A body that is JSON already, whole or in pieces that follow each other. */
export class JsonBytes {
  readonly body: Buffer | readonly Buffer[];

  constructor(body: Buffer | readonly Buffer[]) {
    this.body = body;
  }
}

/** A list of whole objects. */
export function listJson({ items }: Listed, metadata: object, resource: Resource): JsonBytes {
  const head = stringifyJson({ kind: resource.listKind, apiVersion: apiVersionOf(resource), metadata }).slice(0, -1);
  const pieces: Buffer[] = [Buffer.from(`${head},"items":[`)];
  const form = resource.builtin ? { runs: untypedRuns, itemBytes: untyped(resource) } : WHOLE;
  for (let at = 0; at < items.length; ) {
    const { bytes, count } = runAt(items, at, form);
    pieces.push(at === 0 ? bytes.subarray(COMMA.length) : bytes);
    at += count;
  }
  pieces.push(END);
  return new JsonBytes(pieces);
}

const COMMA = Buffer.from(",");
const END = Buffer.from("]}");

/**
 * Objects that follow each other in lists, as they stand there, each with a comma in front. A change makes new bytes
 * of the run that it falls into and leaves all others alone; with them a list is put together from a few large pieces,
 * which takes half of the time that copying every object does.
 */
interface Run {
  readonly objects: readonly DynamicObject[];
  readonly bytes: Buffer;
  /** Where each object ends. */
  readonly ends: readonly number[];
}

/** Large enough that there are few, small enough that making one again costs little. */
const RUN_BYTES = 64 * 1024;

/** How objects stand in a list, and the runs of them, by their first object. */
interface ItemForm {
  readonly runs: Generations<DynamicObject, Run>;
  itemBytes(object: DynamicObject): Buffer;
}

const KEPT_BYTES = 16 * 1024 * 1024;
const untypedRuns = new Generations<DynamicObject, Run>(KEPT_BYTES, ({ bytes }) => bytes.length);
const wholeRuns = new Generations<DynamicObject, Run>(KEPT_BYTES, ({ bytes }) => bytes.length);
const WHOLE: ItemForm = { runs: wholeRuns, itemBytes: passingBytes };

function runAt(items: readonly DynamicObject[], at: number, form: ItemForm): { bytes: Buffer; count: number } {
  const first = items[at] as DynamicObject;
  const { runs } = form;
  const known = runs.get(first);
  if (known) {
    const count = commonLength(known.objects, items, at);
    if (count === known.objects.length) return { bytes: known.bytes, count };
    if (at + count === items.length) return { bytes: known.bytes.subarray(0, known.ends[count - 1]), count };
  }
  const run = newRun(items, at, form);
  runs.set(first, run);
  return { bytes: run.bytes, count: run.objects.length };
}

function commonLength(objects: readonly DynamicObject[], items: readonly DynamicObject[], at: number): number {
  let count = 1;
  while (count < objects.length && objects[count] === items[at + count]) count++;
  return count;
}

/** Ends where another one begins, so that runs keep their places when something between them comes or goes. */
function newRun(items: readonly DynamicObject[], start: number, { runs, itemBytes }: ItemForm): Run {
  const pieces: Buffer[] = [];
  const ends: number[] = [];
  let size = 0;
  for (let at = start; at < items.length && size < RUN_BYTES; at++) {
    const object = items[at] as DynamicObject;
    if (at > start && runs.peek(object)) break;
    const bytes = itemBytes(object);
    pieces.push(COMMA, bytes);
    size += COMMA.length + bytes.length;
    ends.push(size);
  }
  return { objects: items.slice(start, start + ends.length), bytes: Buffer.concat(pieces, size), ends };
}

/** Built-in kinds leave out apiVersion and kind inside of lists: where the text begins with them, they are cut. */
function untyped(resource: Resource): (object: DynamicObject) => Buffer {
  const apiVersion = `"apiVersion":${JSON.stringify(apiVersionOf(resource))},`;
  const kind = `"kind":${JSON.stringify(resource.kind)},`;
  const openings = [Buffer.from(`{${kind}${apiVersion}`), Buffer.from(`{${apiVersion}${kind}`)];
  return (object) => {
    const bytes = passingBytes(object);
    for (const opening of openings) {
      if (startsWith(bytes, opening)) return Buffer.concat([OPEN, bytes.subarray(opening.length)]);
    }
    const { apiVersion: _a, kind: _k, ...rest } = object;
    return Buffer.from(stringifyJson(rest));
  };
}

const OPEN = Buffer.from("{");

function startsWith(bytes: Buffer, opening: Buffer): boolean {
  return bytes.compare(opening, 0, opening.length, 0, opening.length) === 0;
}
