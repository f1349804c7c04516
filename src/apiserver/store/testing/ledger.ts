/** What anybody was ever told of a store, across all its crashes, and what a survivor must therefore show. */
import { expect } from "vitest";
import { Compacted, type Store, type Stored, type StoreEvent } from "../types.ts";

export const RESOURCES = ["pods", "services"] as const;

type Resource = (typeof RESOURCES)[number];

interface Change {
  readonly resource: string;
  readonly key: string;
  /** Undefined when the object was deleted. */
  readonly data: unknown;
}

interface Entry extends Change {
  readonly revision: number;
}

/** The first revision of every store: nothing happened before. */
const FIRST = 1;

export class Ledger {
  readonly #entries: Entry[] = [];
  readonly #attempts = new Set<string>();

  /** Makes data that no other write has. */
  attempt(padding: string): string {
    const data = `${this.#attempts.size} ${padding}`;
    this.#attempts.add(data);
    return data;
  }

  /** A listener saw this: from now on it has happened, whatever crashes. */
  told(event: StoreEvent): void {
    const { revision, resource, key, type, object } = event;
    expect(revision, "revisions rise").toBeGreaterThan(this.revision);
    this.#entries.push({ revision, resource, key, data: type === "DELETED" ? undefined : object.data });
  }

  /** A writer was answered; by then the change is there for everybody. */
  acknowledged(revision: number, { resource, key, data }: Change): void {
    expect(this.#entries.find((entry) => entry.revision === revision)).toEqual({ revision, resource, key, data });
  }

  /** The newest revision that anybody knows of. */
  get revision(): number {
    return this.#entries.at(-1)?.revision ?? FIRST;
  }

  after(resource: Resource, revision: number): readonly Entry[] {
    return this.#entries.filter((entry) => entry.resource === resource && entry.revision > revision);
  }

  /** What was on its way when the process died may have happened: if so as a whole, once, and after all else. */
  takeUp(store: Store): void {
    expect(store.revision, "the revision fell").toBeGreaterThanOrEqual(this.revision);
    const since = this.revision;
    const found = RESOURCES.flatMap((resource) => eventsOf(store, resource, since));
    for (const event of found.sort((a, b) => a.revision - b.revision)) {
      this.told(event);
      if (event.type === "DELETED") continue;
      expect(this.#attempts, "an object that nobody wrote").toContain(event.object.data);
    }
    expect(store.revision).toBe(this.revision);
    const written = this.#entries.flatMap(({ data }) => (data === undefined ? [] : [data]));
    expect(new Set(written).size, "a write happened twice").toBe(written.length);
  }

  /** Holds everything that the store can tell against what was told before. */
  check(store: Store): void {
    expect(store.revision).toBe(this.revision);
    for (const resource of RESOURCES) {
      expect(shown(store.list(resource).items)).toEqual(this.#stateAt(resource, this.revision));
      for (const revision of [FIRST, ...this.#entries.map((entry) => entry.revision)]) {
        this.#checkPast(store, resource, revision);
      }
    }
  }

  /** A list of the past and a watch from it are right, or refused as forgotten. */
  #checkPast(store: Store, resource: Resource, revision: number): void {
    const mayBeForgotten = revision < store.oldest;
    try {
      expect(shown(store.list(resource, { revision }).items)).toEqual(this.#stateAt(resource, revision));
      expect(eventsOf(store, resource, revision).map((event) => event.revision)).toEqual(
        this.after(resource, revision).map((entry) => entry.revision),
      );
    } catch (error) {
      if (!(error instanceof Compacted && mayBeForgotten)) throw error;
    }
  }

  #stateAt(resource: Resource, revision: number): unknown[] {
    const objects = new Map<string, unknown[]>();
    for (const entry of this.#entries) {
      if (entry.resource !== resource || entry.revision > revision) continue;
      if (entry.data === undefined) objects.delete(entry.key);
      else objects.set(entry.key, [entry.key, entry.data, String(entry.revision)]);
    }
    return [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }
}

function shown(items: readonly Stored[]): unknown[] {
  return items.map(({ metadata, data }) => [metadata.name, data, metadata.resourceVersion]);
}

function eventsOf(store: Store, resource: Resource, since: number): StoreEvent[] {
  const events: StoreEvent[] = [];
  store.watch(resource, since, (event) => events.push(event))();
  return events;
}
