/** One apply, or one plan, of one set: from wishes to a report. */
import { setMaxListeners } from "node:events";
import type { Clock } from "#lib/clock";
import type { CallOptions, Client } from "../types.ts";
import { type Patience, persist } from "./attempts.ts";
import type { Busy } from "./busy.ts";
import { Gates } from "./gates.ts";
import { identityOf, type ObjectId } from "./identity.ts";
import { type Item, itemIdentity, Relations } from "./item.ts";
import { itemsOf } from "./items.ts";
import type { Kinds } from "./kinds.ts";
import { Live } from "./live.ts";
import type { Memory } from "./memory.ts";
import { type Decision, OneByOne } from "./one.ts";
import { PHASES, placeOf } from "./phases.ts";
import { eachOf } from "./pool.ts";
import { type Pruned, prune } from "./prune.ts";
import type { ApplyReport, CacheOf, ObjectReport, ObjectSet, RunOptions } from "./types.ts";
import { isInPlace, reportFrom } from "./verdict.ts";

/** What an engine keeps from one run to the next. */
export interface EngineParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly fieldManager: string;
  readonly cacheOf: CacheOf;
  readonly atOnce: number;
  readonly fieldValidation: "Ignore" | "Warn" | "Strict";
  readonly hashAnnotation: (manager: string) => string;
  readonly kinds: Kinds;
  readonly memory: Memory;
  readonly busy: Busy;
}

export class Run {
  readonly #parts: EngineParts;
  readonly #set: ObjectSet;
  readonly #options: RunOptions & { readonly dryRun: boolean };
  readonly #patience: Patience;
  readonly #reports = new Map<number, ObjectReport>();
  readonly #stop = new AbortController();

  constructor(parts: EngineParts, set: ObjectSet, options: RunOptions & { readonly dryRun: boolean }) {
    const { patience = 0, dryRun } = options;
    this.#parts = parts;
    this.#set = set;
    this.#options = options;
    // Node takes more than ten listeners of a signal for a leak; here every call of many at once is one.
    setMaxListeners(0, this.#stop.signal);
    // A plan tells what would be written; how long it would have to wait nobody knows.
    const until = parts.clock.now().getTime() + (dryRun ? 0 : patience);
    this.#patience = { clock: parts.clock, until, signal: this.#stop.signal };
  }

  async report(): Promise<ApplyReport> {
    const { signal } = this.#options;
    if (signal?.aborted) this.#stop.abort();
    signal?.addEventListener("abort", this.#callOff, { once: true });
    try {
      return await this.#report();
    } finally {
      signal?.removeEventListener("abort", this.#callOff);
    }
  }

  async #report(): Promise<ApplyReport> {
    const { only, dryRun } = this.#options;
    const { items, refused, copies } = await itemsOf(this.#set, this.#parts, this.#patience);
    for (const { item, verdict } of refused) if (!only || only(item.id)) this.#tell(item, { verdict });

    const recorded = only ? undefined : await this.#recorded();
    const members = items.filter(({ strategy }) => strategy.type !== "ReadOnly").map(({ id }) => id);
    if (recorded && !dryRun) await this.#record(union(recorded, members));
    const chosen = only ? items.filter(({ id }) => only(id)) : items;
    const wellFormed = refused.filter(({ verdict }) => verdict.reason !== "Malformed").map(({ item }) => item);
    await this.#phases(new Relations([...items, ...wellFormed]), chosen);
    for (const { index, of } of copies) {
      const original = this.#reports.get(of);
      if (original) this.#reports.set(index, original);
    }
    const attempted = refused.flatMap(({ item }) => this.#possibleIds(item));
    return this.#finished(recorded, members, attempted);
  }

  /** What is refused before its kind is known may be in a namespace or in none. */
  #possibleIds({ id }: Item): readonly ObjectId[] {
    return [id, { ...id, namespace: id.namespace ?? this.#set.namespace ?? "default" }];
  }

  /** What the set contained. Whoever cannot tell must not begin: what goes in could not be removed later. */
  async #recorded(): Promise<readonly ObjectId[] | undefined> {
    const { tracking } = this.#set;
    return tracking && persist(this.#patience, () => tracking.inventory.read(this.#call));
  }

  async #record(members: readonly ObjectId[]): Promise<void> {
    await persist(this.#patience, async () => this.#set.tracking?.inventory.write(members, this.#call));
  }

  async #phases(relations: Relations, chosen: readonly Item[]): Promise<void> {
    const { dryRun, onWait = () => {} } = this.#options;
    const patience = this.#patience;
    const reportOf = ({ index }: Item) => this.#reports.get(index);
    const gates = new Gates({ ...this.#parts, relations, patience, dryRun, reportOf, onWait });
    const live = new Live(this.#parts);
    const stage = { ...this.#parts, dryRun, signal: this.#stop.signal };
    const writer = new OneByOne({ set: this.#set, stage, kinds: this.#parts.kinds, gates, live, patience, onWait });

    const placed = chosen.map((item) => ({ item, ...placeOf(item.id, isGuarded(item, relations)) }));
    for (const phase of PHASES) {
      const due = placed
        .filter((each) => each.phase === phase)
        .sort((a, b) => a.rank - b.rank || a.item.index - b.item.index)
        .map(({ item }) => item);
      if (due.length === 0) continue;
      await live.readAhead(due, this.#call);
      await eachOf(due, this.#parts.atOnce, async (item) => {
        const { busy } = this.#parts;
        busy.begin(itemIdentity(item));
        const decision = await writer.decide(item).finally(() => busy.end(itemIdentity(item)));
        this.#tell(item, decision);
      });
    }
  }

  /** Removes what has left the set, sets the record right, and sums up. */
  async #finished(
    recorded: readonly ObjectId[] | undefined,
    members: readonly ObjectId[],
    attempted: readonly ObjectId[],
  ): Promise<ApplyReport> {
    const applied = [...this.#reports].sort(([a], [b]) => a - b).map(([, report]) => report);
    const isWhole = applied.every(isInPlace);
    const { tracking } = this.#set;
    if (!tracking || !recorded) return { objects: applied, complete: isWhole };

    const { dryRun, onReport = () => {} } = this.#options;
    const kept = new Set(applied.flatMap(({ live }) => live?.metadata.uid ?? []));
    const options = { ...this.#parts, tracking, kept, dryRun, call: this.#call, onReport };
    const current = new Set([...members, ...attempted].map(identityOf));
    const departed = recorded.filter((id) => !current.has(identityOf(id)));
    const contained = members.length + departed.length;
    const pruned = await prune(options, departed, { contained, whole: isWhole });
    const objects = [...applied, ...pruned.reports];
    const problem = isWhole && !dryRun ? await this.#settled([...members, ...pruned.remaining]) : undefined;
    if (problem !== undefined) return { objects, complete: false, problem };
    return { objects, complete: isWhole && isSettled(pruned) };
  }

  /** Sets the record right. If that fails it merely lists more than there is, and the next run mends it. */
  async #settled(members: readonly ObjectId[]): Promise<string | undefined> {
    try {
      await this.#record(members);
      return undefined;
    } catch (error) {
      return `the record of the set could not be brought up to date: ${(error as Error).message}`;
    }
  }

  #tell(item: Item, { verdict, difference }: Decision): void {
    const report = reportFrom(item.id, verdict, { difference, source: item.source });
    this.#reports.set(item.index, report);
    this.#options.onReport?.(report);
  }

  get #call(): CallOptions {
    return { signal: this.#stop.signal };
  }

  #callOff = (): void => this.#stop.abort();
}

/** What a webhook of the set judges, and what a server extension of the set serves, comes after those. */
function isGuarded(item: Item, relations: Relations): boolean {
  return relations.guardsOf(item).length > 0 || (item.kind === undefined && relations.providerOf(item) !== undefined);
}

/** What nobody asked to remove is no failure. */
function isSettled({ reports }: Pruned): boolean {
  return reports.every(
    (report) => isInPlace(report) || report.reason === "LeftTheSet" || report.reason === "Container",
  );
}

function union(a: readonly ObjectId[], b: readonly ObjectId[]): ObjectId[] {
  return [...new Map([...a, ...b].map((id) => [identityOf(id), id])).values()];
}
