/** Ownership of any shape, deleted in any order and any way, ends as a few lines of plain rules say. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DynamicObject, OwnerReference } from "#api/meta";
import { silentLog as log } from "#lib/log";
import { followOwnership } from "../ownership.ts";
import { type RunningControllers, runServerControllers } from "../runner.ts";
import { type Bed, bed } from "../testing/bed.ts";
import { garbageCollector } from "./garbage-collector.controller.ts";

const CONFIG_MAPS = "core/configmaps";
const HOLD = "example.com/hold";

/** One object: its owners by number, where one beyond the last never was; and whether somebody holds it when it is deleted. */
interface Member {
  readonly owners: readonly { readonly index: number; readonly blocks: boolean }[];
  readonly isHeld: boolean;
}

interface Deletion {
  readonly index: number;
  readonly policy: "Orphan" | "Background" | "Foreground";
}

interface Story {
  readonly members: readonly Member[];
  readonly deletions: readonly Deletion[];
}

const MOST = 7;
const index = fc.nat(MOST);
const member: fc.Arbitrary<Member> = fc.record({
  owners: fc.uniqueArray(fc.record({ index, blocks: fc.boolean() }), {
    maxLength: 3,
    selector: (owner) => owner.index,
  }),
  isHeld: fc.boolean(),
});
const deletion: fc.Arbitrary<Deletion> = fc.record({
  index,
  policy: fc.constantFrom("Orphan", "Background", "Foreground"),
});
const story: fc.Arbitrary<Story> = fc.record({
  members: fc.array(member, { minLength: 1, maxLength: MOST }),
  deletions: fc.array(deletion, { maxLength: 4 }),
});

/** Who is left, by number, with the numbers of those who own them. */
type Outcome = ReadonlyMap<number, readonly number[]>;

/** What is to be expected when everything comes to rest between two deletions. */
function expected({ members, deletions }: Story): Outcome {
  const left = new Map(members.map(({ owners }, at) => [at, owners.map((owner) => owner.index)]));
  const collect = () => {
    for (let changed = true; changed; ) {
      changed = false;
      for (const [at, owners] of left) {
        const present = owners.filter((owner) => left.has(owner));
        if (present.length === owners.length) continue;
        changed = true;
        if (present.length === 0) left.delete(at);
        else left.set(at, present);
      }
    }
  };
  collect();
  for (const { index: at, policy } of deletions) {
    if (!left.has(at)) continue;
    if (policy === "Orphan") for (const [each, owners] of left) left.set(each, without(owners, at));
    left.delete(at);
    collect();
  }
  return left;
}

const without = (owners: readonly number[], at: number) => owners.filter((owner) => owner !== at);

/** A story played in a store, in which names of different stories do not meet. */
class Stage {
  readonly #bed: Bed;
  readonly #prefix: string;
  readonly #uids = new Map<number, string>();
  readonly #story: Story;
  #collector: { running: RunningControllers; close(): void } | undefined;

  constructor(ours: Bed, prefix: string, told: Story) {
    this.#bed = ours;
    this.#prefix = prefix;
    this.#story = told;
  }

  /** Makes all objects, and only then ties them to their owners. */
  async build(): Promise<void> {
    for (const [at, { isHeld }] of this.#story.members.entries()) {
      const finalizers = isHeld ? { finalizers: [HOLD] } : {};
      const made = await this.#bed.create(CONFIG_MAPS, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { namespace: "default", name: this.#name(at), ...finalizers },
      });
      this.#uids.set(at, made.metadata.uid ?? "");
    }
    for (const [at, { owners }] of this.#story.members.entries()) {
      if (owners.length === 0) continue;
      const ownerReferences = owners.map(({ index: owner, blocks }) => this.#reference(owner, blocks));
      await this.#change(at, (draft) => ({ ...draft, metadata: { ...draft.metadata, ownerReferences } }));
    }
  }

  start(): void {
    const { store, clock } = this.#bed;
    const ownership = followOwnership(store);
    const controllers = [garbageCollector({ ...this.#bed, ownership })];
    const running = runServerControllers({ store, clock, log, controllers });
    this.#collector = { running, close: () => ownership.close() };
  }

  async stop(): Promise<void> {
    await this.#collector?.running.stop();
    this.#collector?.close();
    this.#collector = undefined;
  }

  async delete({ index: at, policy }: Deletion): Promise<void> {
    const object = this.#get(at);
    if (object) await this.#bed.writer.remove(CONFIG_MAPS, object, { propagationPolicy: policy });
  }

  /** Lets go of what is held and deleted, until everything has come to rest. */
  async settle(): Promise<void> {
    for (;;) {
      await this.#rest();
      const held = [...this.#story.members.keys()].filter((at) => {
        const metadata = this.#get(at)?.metadata;
        return metadata?.deletionTimestamp && metadata.finalizers?.includes(HOLD);
      });
      if (held.length === 0) return;
      for (const at of held) {
        await this.#change(at, (draft) => {
          const finalizers = draft.metadata.finalizers?.filter((finalizer) => finalizer !== HOLD) ?? [];
          return { ...draft, metadata: { ...draft.metadata, finalizers } };
        });
      }
    }
  }

  async clear(): Promise<void> {
    const left = [...this.#story.members.keys()].filter((at) => this.#get(at));
    await Promise.all(
      left.map((at) => this.#bed.store.write(CONFIG_MAPS, `default/${this.#name(at)}`, () => undefined)),
    );
  }

  outcome(): Outcome {
    const numbers = new Map([...this.#uids].map(([at, uid]) => [uid, at]));
    return new Map(
      [...this.#story.members.keys()].flatMap((at): [number, number[]][] => {
        const object = this.#get(at);
        const owners = object?.metadata.ownerReferences ?? [];
        return object ? [[at, owners.map(({ uid }) => numbers.get(uid) ?? MOST)]] : [];
      }),
    );
  }

  deleted(): string[] {
    return [...this.#story.members.keys()].flatMap((at) => {
      const { name, deletionTimestamp } = this.#get(at)?.metadata ?? {};
      return deletionTimestamp ? [name ?? ""] : [];
    });
  }

  #reference(owner: number, blockOwnerDeletion: boolean): OwnerReference {
    const uid = this.#uids.get(owner) ?? `never-${this.#prefix}-${owner}`;
    return { apiVersion: "v1", kind: "ConfigMap", name: this.#name(owner), uid, blockOwnerDeletion };
  }

  async #rest(): Promise<void> {
    const { store } = this.#bed;
    for (let calm = 0, { revision } = store; calm < 3; revision = store.revision) {
      await turn();
      calm = this.#collector?.running.isQuiet !== false && revision === store.revision ? calm + 1 : 0;
    }
  }

  #change(at: number, edit: (draft: DynamicObject) => DynamicObject): Promise<void> {
    return this.#bed.change(CONFIG_MAPS, `default/${this.#name(at)}`, edit);
  }

  #get(at: number): DynamicObject | undefined {
    return this.#bed.get(CONFIG_MAPS, `default/${this.#name(at)}`);
  }

  #name(at: number): string {
    return `${this.#prefix}-${at}`;
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

const foreground = (at: number): Deletion => ({ index: at, policy: "Foreground" });
const ownedBy = (...owners: number[]): Member => ({
  owners: owners.map((at) => ({ index: at, blocks: true })),
  isHeld: false,
});

/** Stories that a collector gets wrong who unties only the knots that it has tied itself. */
const KNOTS: [Story][] = [
  [{ members: [ownedBy(0)], deletions: [foreground(0)] }],
  [{ members: [ownedBy(1), ownedBy(0)], deletions: [foreground(0), foreground(1)] }],
  [{ members: [ownedBy(1, 2), ownedBy(2), ownedBy(0)], deletions: [foreground(2), foreground(1), foreground(0)] }],
];

async function eachStory(play: (stage: Stage, told: Story) => Promise<void>, runs: number): Promise<void> {
  const ours = await bed(() => []);
  let played = 0;
  const property = fc.asyncProperty(story, async (told) => {
    const stage = new Stage(ours, `story-${played++}`, told);
    await stage.build();
    try {
      await play(stage, told);
    } finally {
      await stage.stop();
      await stage.clear();
    }
  });
  await fc.assert(property, { numRuns: runs, examples: KNOTS });
}

describe("garbage collection", () => {
  it("leaves exactly those who were not deleted and whom an owner keeps", async () => {
    await eachStory(async (stage, told) => {
      stage.start();
      await stage.settle();
      for (const each of told.deletions) {
        await stage.delete(each);
        await stage.settle();
      }
      expect(stage.outcome()).toEqual(expected(told));
    }, 300);
  });

  it("ends the same when it is interrupted anywhere and begun again", async () => {
    const ticks = fc.sample(fc.nat(12), { numRuns: 1000, seed: 1 });
    await eachStory(async (stage, told) => {
      stage.start();
      await stage.settle();
      for (const each of told.deletions) {
        await stage.delete(each);
        for (let left = ticks.shift() ?? 0; left > 0; left--) await turn();
        await stage.stop();
        stage.start();
        await stage.settle();
      }
      expect(stage.outcome()).toEqual(expected(told));
    }, 200);
  });

  it("never hangs, however much is deleted at once", async () => {
    await eachStory(async (stage, { deletions, members }) => {
      stage.start();
      await Promise.all(deletions.map((each) => stage.delete(each)));
      await stage.settle();
      expect(stage.deleted()).toEqual([]);
      const left = stage.outcome();
      const doomed = deletions.filter((each) => each.index < members.length);
      expect(doomed.filter((each) => left.has(each.index))).toEqual([]);
      expect([...left].filter(([, owners]) => owners.some((owner) => !left.has(owner)))).toEqual([]);
      const free = [...members.keys()].filter((at) => members[at]?.owners.length === 0);
      const spared = free.filter((at) => !doomed.some((each) => each.index === at));
      expect(spared.filter((at) => !left.has(at))).toEqual([]);
    }, 300);
  });
});
