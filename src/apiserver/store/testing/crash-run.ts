/**
 * One story of crashes: concurrent writers and watchers work on a store until the disk stops at a named moment, a new
 * process opens what is left, and what it finds is held against the ledger of what anybody was ever told.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect } from "vitest";
import { ManualClock } from "#lib/clock";
import { openStore } from "../open.ts";
import type { Store, Stored, StoreEvent } from "../types.ts";
import { type CrashPoint, isRare, Namer, SYNC_ONLY } from "./crash-points.ts";
import { Ledger, RESOURCES } from "./ledger.ts";
import { type DiskMoment, isLock, MemoryDisk } from "./memory-disk.ts";
import { Random } from "./random.ts";

const DIR = "/store";
const MOST_WRITERS = 4;
const WATCHERS = 3;
const KEYS = ["a/1", "a/2", "a-b/1", "b/1", "b/2"] as const;
/** Far more than any point needs; whoever writes so many without a crash has missed it. */
const MOST_WRITES = 400;
const WRITES_AT_THE_END = 20;
/** So small that a few writes make a snapshot due. */
const SNAPSHOT_AFTER = 900;
const FAILED_WRITES = 0.1;
/** A history short enough that lists and watches meet its end. */
const HISTORY = { seconds: 60, least: 20, most: 40 };

export interface CrashStory {
  /** Where each process of the story ends; the one after the last lives on. */
  readonly points: readonly CrashPoint[];
  readonly seed: number;
}

/** Plays the story and checks every survivor. Answers with the points that were really reached. */
export async function crashRun({ points, seed }: CrashStory): Promise<CrashPoint[]> {
  const random = new Random(seed);
  const durability = points.some((point) => SYNC_ONLY.has(point)) || random.next() < 0.6 ? "sync" : "os";
  const ledger = new Ledger();
  const reached: CrashPoint[] = [];
  let disk = new MemoryDisk();
  for (const [index, point] of [...points, undefined].entries()) {
    const life = new Life({ disk, durability, random, ledger, point });
    if (await life.run()) break;
    if (point) reached.push(point);
    // Only the disk's own acknowledgement outlives a power cut, and a cut may leave nothing to recover from.
    const mayBeCut = durability === "sync" && !points[index + 1]?.startsWith("recovery:");
    disk = mayBeCut && random.next() < 0.5 ? disk.afterPowerCut(random) : disk.afterKill();
    disk.forgetLocks();
  }
  return reached;
}

interface LifeOptions {
  readonly disk: MemoryDisk;
  readonly durability: "sync" | "os";
  readonly random: Random;
  readonly ledger: Ledger;
  /** Where it ends; without one it closes the store in the end. */
  readonly point: CrashPoint | undefined;
}

/** One process: it opens the store, checks it, works, and crashes or closes. */
class Life {
  readonly #options: LifeOptions;
  readonly #namer: Namer;
  /** How often the point is passed before the crash. */
  #spared: number;
  #isDead = false;
  #watchers: Watcher[] = [];
  #failedListener: string | undefined;
  #die = () => {};
  readonly #death = new Promise<"crashed">((resolve) => {
    this.#die = () => resolve("crashed");
  });

  constructor(options: LifeOptions) {
    this.#options = options;
    this.#namer = new Namer(options.durability);
    this.#spared = options.point && isRare(options.point) ? 0 : options.random.below(3);
  }

  /** Whether it lived to the end. */
  async run(): Promise<boolean> {
    const end = await Promise.race([this.#death, this.#live()]);
    for (const watcher of this.#watchers) watcher.end();
    expect(this.#failedListener).toBeUndefined();
    return end === "closed";
  }

  async #live(): Promise<"closed"> {
    const { disk, durability, ledger, point } = this.#options;
    const store = await openStore({
      dir: DIR,
      durability,
      disk: disk.attach((moment) => this.#onMoment(moment)),
      snapshotAfter: SNAPSHOT_AFTER,
      history: HISTORY,
      clock: new ManualClock(),
      warn: (message) => {
        if (/a (watcher|listener) failed/.test(message)) this.#failedListener = message;
      },
    });
    this.#namer.isOpening = false;
    ledger.takeUp(store);
    ledger.check(store);
    store.subscribe((event) => ledger.told(event));
    await this.#work(store, point ? MOST_WRITES : WRITES_AT_THE_END);
    ledger.check(store);
    await store.close();
    return "closed";
  }

  async #onMoment(moment: DiskMoment): Promise<void> {
    const { random, point } = this.#options;
    if (this.#isDead) await forever();
    if (isLock(moment.path)) return;
    const name = this.#namer.nameOf(moment);
    if (name === undefined) return;
    if (name === point && this.#spared-- === 0) {
      this.#isDead = true;
      this.#die();
      await forever();
    }
    // Operations that go on side by side overtake each other differently with every seed.
    await turns(random.below(3));
    if (this.#isDead) await forever();
    if (name === "commit:torn-record" && random.next() < FAILED_WRITES) throw new Error("ENOSPC: no space left");
  }

  async #work(store: Store, writes: number): Promise<void> {
    const { ledger, random } = this.#options;
    this.#watchers = Array.from({ length: WATCHERS }, () => new Watcher(store, ledger, random));
    let left = writes;
    const writer = async () => {
      while (left-- > 0) {
        await writeOnce(store, ledger, random);
        // Writers who pause let a snapshot finish before the next log begins.
        if (random.next() < 0.1) await turns(random.below(30));
        if (random.next() < 0.2) this.#watchers[random.below(WATCHERS)]?.resume();
      }
    };
    await Promise.all(Array.from({ length: 1 + random.below(MOST_WRITERS) }, writer));
  }
}

/** Puts or deletes one object. A write that the disk refused may be there or not, like one cut off by a crash. */
async function writeOnce(store: Store, ledger: Ledger, random: Random): Promise<void> {
  const [resource, key] = [random.pick(RESOURCES), random.pick(KEYS)];
  const deletes = random.next() < 0.25;
  const data = deletes ? undefined : ledger.attempt("x".repeat(random.below(120)));
  const decide = (current: Stored | undefined): Stored | undefined =>
    data === undefined ? undefined : { ...current, apiVersion: "v1", kind: "T", metadata: { name: key }, data };
  let written: Stored | undefined;
  try {
    written = await store.write(resource, key, (current) => (deletes && !current ? current : decide(current)));
  } catch {
    return;
  }
  if (written) ledger.acknowledged(Number(written.metadata.resourceVersion), { resource, key, data });
}

/** Follows one resource from some revision on and is told everything after it, once and in order. */
class Watcher {
  readonly #store: Store;
  readonly #ledger: Ledger;
  readonly #resource: (typeof RESOURCES)[number];
  #since: number;
  #seen: StoreEvent[] = [];
  #end: () => void;

  constructor(store: Store, ledger: Ledger, random: Random) {
    this.#store = store;
    this.#ledger = ledger;
    this.#resource = random.pick(RESOURCES);
    this.#since = store.oldest + random.below(store.revision - store.oldest + 1);
    this.#end = this.#begin();
  }

  /** Ends and goes on from the last revision seen. */
  resume(): void {
    this.end();
    this.#since = this.#seen.at(-1)?.revision ?? this.#since;
    if (this.#since < this.#store.oldest) this.#since = this.#store.revision;
    this.#seen = [];
    this.#end = this.#begin();
  }

  end(): void {
    this.#end();
    expect(this.#seen.map(({ revision }) => revision)).toEqual(
      this.#ledger.after(this.#resource, this.#since).map(({ revision }) => revision),
    );
  }

  #begin(): () => void {
    return this.#store.watch(this.#resource, this.#since, (event) => this.#seen.push(event));
  }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}

/** What a dead process asks of its disk is never answered. */
function forever(): Promise<never> {
  return new Promise(() => {});
}
