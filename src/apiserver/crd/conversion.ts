/** Versions that somebody outside converts: what is remembered, and how code that cannot wait gets what it needs. */
import type { DynamicObject } from "#api/meta";
import { stringifyJson } from "#lib/json";
import type { ToVersion } from "../apply/index.ts";
import { internalError } from "../errors.ts";
import type { Conversion } from "../resource.ts";
import type { Converter } from "./converter.ts";
import { fill } from "./defaults.ts";
import type { Node } from "./node.ts";
import { prune } from "./prune.ts";

export interface ConvertedVersionsOptions {
  readonly converter: Converter;
  /** The apiVersion that objects are stored in. */
  readonly storedAs: string;
  /** The schemas of all versions, by apiVersion. */
  readonly nodes: ReadonlyMap<string, Node>;
}

export interface ConvertedVersions {
  /** For code that cannot wait. It runs inside of a Conversion's `settled`. */
  readonly toVersion: ToVersion;
  conversionOf(apiVersion: string): Conversion;
}

export function convertedVersions({ converter, storedAs, nodes }: ConvertedVersionsOptions): ConvertedVersions {
  const convert = async (objects: readonly DynamicObject[], apiVersion: string): Promise<DynamicObject[]> => {
    const node = nodes.get(apiVersion);
    const converted = await converter.convert(objects, apiVersion);
    return converted.map((object, index) => (object === objects[index] || !node ? object : pruned(node, object)));
  };
  const convertOne = async (object: DynamicObject, apiVersion: string): Promise<DynamicObject> =>
    (await convert([object], apiVersion))[0] ?? object;
  /** Defaults are those of the version that an object is stored in; what a webhook leaves out is meant to be out. */
  const filled = (stored: DynamicObject): DynamicObject => {
    const node = nodes.get(stored.apiVersion);
    return node ? (fill(node, stored) as DynamicObject) : stored;
  };
  const workbench = new Workbench(convertOne);

  return {
    toVersion: (object, apiVersion) => workbench.take(object, apiVersion),
    conversionOf: (apiVersion) => ({
      shown: remembering((stored) => convert(stored.map(filled), apiVersion)),
      toVersion: (object) => convertOne(object, apiVersion),
      toStorage: (object) => convertOne(object, storedAs),
      settled: (task) => workbench.settled(task),
      notConverted: () => converter.notConverted(),
    }),
  };
}

/** What the schema of a version does not know is lost on the way into it. Metadata is the server's. */
function pruned(node: Node, { metadata, ...rest }: DynamicObject): DynamicObject {
  return { ...(prune(node, { ...rest, metadata: {} }, "", []) as DynamicObject), metadata };
}

/** What is stored is converted once: it never changes, and goes when something else takes its place. */
function remembering(convert: (stored: readonly DynamicObject[]) => Promise<DynamicObject[]>): Conversion["shown"] {
  const known = new WeakMap<DynamicObject, Promise<DynamicObject>>();
  return (stored) => {
    const missing = stored.filter((object) => !known.has(object));
    if (missing.length > 0) {
      const converted = convert(missing);
      for (const [index, object] of missing.entries()) {
        const one = converted.then((all) => all[index] ?? object);
        known.set(object, one);
        one.catch(() => known.delete(object)); // the next one who asks may be luckier
      }
    }
    return Promise.all(stored.map((object) => known.get(object) ?? object));
  };
}

/** Thrown where an object is needed in a version that it is not there in yet. */
class Needed extends Error {
  readonly object: DynamicObject;
  readonly apiVersion: string;

  constructor(object: DynamicObject, apiVersion: string) {
    super(`needed in ${apiVersion}`);
    this.object = object;
    this.apiVersion = apiVersion;
  }
}

/** Enough for the managers of an object, each of them in a version of its own, before and after a write. */
const MOST_READY = 256;
const MOST_RUNS = 128;

/**
 * Merging fields and telling who owns them is done in one go, and may need an object in the version of every manager. So
 * it is begun, and begun again after each conversion that it turned out to need; given the same, it does the same.
 */
class Workbench {
  readonly #convert: (object: DynamicObject, apiVersion: string) => Promise<DynamicObject>;
  /** By version and content, because each run makes its objects anew. The oldest go first. */
  readonly #ready = new Map<string, DynamicObject>();

  constructor(convert: (object: DynamicObject, apiVersion: string) => Promise<DynamicObject>) {
    this.#convert = convert;
  }

  take(object: DynamicObject, apiVersion: string): DynamicObject {
    const found = this.#ready.get(placeOf(object, apiVersion));
    if (!found) throw new Needed(object, apiVersion);
    return found;
  }

  async settled<T>(task: () => T): Promise<T> {
    for (let run = 1; run <= MOST_RUNS; run++) {
      try {
        return task();
      } catch (error) {
        if (!(error instanceof Needed)) throw error;
        const { object, apiVersion } = error;
        this.#put(placeOf(object, apiVersion), await this.#convert(object, apiVersion));
      }
    }
    throw internalError("the managers of the object name more versions than can be converted");
  }

  #put(place: string, converted: DynamicObject): void {
    this.#ready.set(place, converted);
    for (const oldest of this.#ready.keys()) {
      if (this.#ready.size <= MOST_READY) break;
      this.#ready.delete(oldest);
    }
  }
}

function placeOf(object: DynamicObject, apiVersion: string): string {
  return `${apiVersion} ${stringifyJson(object)}`;
}
