/**
 * What the engine itself has done in this process: which manifest it sent last, and what the object was like after it.
 * As long as neither changes there is nothing to do, whatever managers and annotations say or fail to say.
 */
import type { DynamicObject } from "#api/meta";
import type { Clock } from "#lib/clock";
import { fingerprintOf } from "./content.ts";

interface Deed {
  readonly hash: string;
  readonly fingerprint: string;
  /** The version that was last found to be as it was left. */
  version: string | undefined;
  /** The version that our write found; undefined when it found nothing. */
  readonly before: string | undefined;
  /** What our write left, until a cache knows of it: more than that would be a second cache. */
  left?: DynamicObject | undefined;
  readonly at: number;
}

/** A cache that still shows the past so long after a write shows something else. */
const LONGEST_LAG = 5_000;

export class Memory {
  readonly #deeds = new Map<string, Deed>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  record(identity: string, hash: string, before: DynamicObject | undefined, after: DynamicObject): void {
    this.#deeds.set(identity, {
      hash,
      fingerprint: fingerprintOf(after),
      version: after.metadata.resourceVersion,
      before: before?.metadata.resourceVersion,
      left: after,
      at: this.#clock.now().getTime(),
    });
  }

  forget(identity: string): void {
    this.#deeds.delete(identity);
  }

  /** What the cache will show in a moment, where it still shows what our own last write replaced. */
  ahead(identity: string, cached: DynamicObject): DynamicObject {
    const deed = this.#deeds.get(identity);
    // No cache goes back: one that shows what was there before our write has not heard of it yet.
    if (deed?.left && deed.before !== undefined && deed.before === cached.metadata.resourceVersion) return deed.left;
    if (deed) deed.left = undefined;
    return cached;
  }

  /** Whether we created it a moment ago: a cache without it may lag, or it may be gone again. */
  isYoung(identity: string): boolean {
    const deed = this.#deeds.get(identity);
    return deed !== undefined && deed.before === undefined && this.#clock.now().getTime() - deed.at < LONGEST_LAG;
  }

  /** Whether the object is as the last write of just this manifest left it, labels and the like aside. */
  isAsLeft(identity: string, hash: string, live: DynamicObject): boolean {
    const deed = this.#deeds.get(identity);
    if (deed?.hash !== hash) return false;
    const { resourceVersion } = live.metadata;
    if (resourceVersion !== undefined && resourceVersion === deed.version) return true;
    if (fingerprintOf(live) !== deed.fingerprint) return false;
    deed.version = resourceVersion;
    return true;
  }
}
