/**
 * Controllers that hear of the same change often want to write the same object in the same moment: one its finalizer,
 * another a label, a third a condition. What they want of one state of an object is written together; of those who come
 * later, while the server is still at it, it is known without asking that they are too late.
 */
import { type Kind, type KubeObject, keyOf } from "#api/meta";
import { type Client, type Draft, isKubeError, KubeError } from "#kube";
import { BoundedCache } from "#lib/bounded-cache";
import { CONTRADICTION, merged } from "#lib/json";
import { describe } from "#lib/meta";
import { commit, hasChanges } from "./commit.ts";
import type { Cluster } from "./types.ts";

interface Wish {
  readonly after: KubeObject;
  readonly resolve: (written: KubeObject) => void;
  readonly reject: (error: unknown) => void;
}

/** All that is wanted of one state of an object. */
interface Gathering {
  after: KubeObject;
  readonly wishes: Wish[];
}

/** States of objects that were written over lately; copies catch up within moments. */
const REMEMBERED = 1024;
/** Not for longer: a server that was restored from a backup may be in a state again in which it was before. */
const REMEMBERED_MS = 2_000;

export function gatheredCommits(client: Client): Cluster["commit"] {
  const gathering = new Map<string, Gathering>();
  const underWay = new Map<string, Promise<void>>();
  const past = new BoundedCache<number>(REMEMBERED);

  return async <T extends KubeObject>(
    kind: Kind<T>,
    before: T | undefined,
    after: T | Draft<T>,
    options = {},
  ): Promise<T> => {
    const state = before && stateOf(kind, before);
    if (!before || state === undefined || Object.keys(options).length > 0) {
      return commit(client, kind, before, after, options);
    }
    if (!hasChanges(kind, before, after)) return before;
    await underWay.get(state);
    if (performance.now() - (past.get(state) ?? Number.NEGATIVE_INFINITY) < REMEMBERED_MS) throw tooLate(before);

    const whole = withStatusOf(before, after) as T;
    const known = gathering.get(state);
    if (!known) {
      const started: Gathering = { after: whole, wishes: [] };
      gathering.set(state, started);
      setImmediate(() => underWay.set(state, write(kind, before, state, started)));
      return joined(started, whole) as Promise<T>;
    }
    const both = merged(before, known.after, whole);
    if (both === CONTRADICTION) return commit(client, kind, before, after);
    known.after = both as T;
    return joined(known, whole) as Promise<T>;
  };

  /** Never rejects: whoever wished hears what became of it. */
  async function write(kind: Kind<KubeObject>, before: KubeObject, state: string, { after, wishes }: Gathering) {
    gathering.delete(state);
    try {
      const written = await commit(client, kind, before, after);
      if (stateOf(kind, written) !== state) past.set(state, performance.now());
      for (const { resolve } of wishes) resolve(written);
    } catch (error) {
      if (wishes.length > 1 && isRefusal(error)) await oneByOne(kind, before, wishes);
      else for (const { reject } of wishes) reject(error);
    } finally {
      underWay.delete(state);
    }
  }

  /** What one wants may be refused; that is no reason to refuse the others. */
  async function oneByOne(kind: Kind<KubeObject>, before: KubeObject, wishes: readonly Wish[]): Promise<void> {
    for (const { after, resolve, reject } of wishes) {
      await commit(client, kind, before, after).then(resolve, reject);
    }
  }
}

/** An `after` without a status leaves it alone, whatever others want of it. */
function withStatusOf(before: object, after: object): object {
  const isSaid = "status" in after && after.status !== undefined;
  return isSaid || !("status" in before) ? after : { ...after, status: before.status };
}

function joined({ wishes }: Gathering, after: KubeObject): Promise<KubeObject> {
  return new Promise((resolve, reject) => {
    wishes.push({ after, resolve, reject });
  });
}

/** Tells the states of all objects apart; undefined where the server does not say in which one an object is. */
function stateOf<T extends KubeObject>({ group, plural }: Kind<T>, object: T): string | undefined {
  const { uid = "", resourceVersion } = object.metadata;
  return resourceVersion && [group, plural, keyOf(object), uid, resourceVersion].join(" ");
}

/** The server understood, and does not want it so. */
function isRefusal(error: unknown): boolean {
  return isKubeError(error) && error.kind === "status" && error.code !== 409 && error.code < 500;
}

function tooLate(object: KubeObject): KubeError {
  const message = `${describe(object)} was written meanwhile; it is looked at again`;
  return new KubeError("status", message, { code: 409, reason: "Conflict" });
}
