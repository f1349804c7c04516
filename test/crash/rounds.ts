/**
 * Kills an API server at random moments under concurrent writers and watchers, starts it again, and checks its word:
 * nothing acknowledged is lost, nothing happens twice, the resourceVersion never falls, and a watch that resumes sees
 * every change once.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { ConfigMap } from "#api/core";
import { type Client, isKubeError, isNotFound } from "#kube";
import { Random } from "../../src/apiserver/store/testing/random.ts";
import { eventually } from "../support/eventually.ts";
import { type Program, startProgram } from "./program.ts";

const WRITERS = 8;
const KEYS_PER_WRITER = 3;
/** Large enough that the log is rolled and snapshots are taken within a few rounds. */
const PADDING = "x".repeat(6_000);

/** What is known of one object: the number written last and acknowledged, and the one that was tried. */
interface Known {
  acknowledged: number;
  tried: number;
  /** Whether the try or the acknowledged write was a delete. */
  acknowledgedGone: boolean;
  triedGone: boolean;
}

export async function crashRounds(options: {
  rounds: number;
  seed: number;
  onRound?: (round: number) => void;
}): Promise<void> {
  const random = new Random(options.seed);
  const dir = await mkdtemp(join(tmpdir(), "capstan-crash-"));
  const known = new Map<string, Known>();
  let highest = 0;
  let server: Program | undefined;
  const watcher = new Watcher();
  try {
    for (let round = 1; round <= options.rounds; round++) {
      server = await startProgram({ dir });
      await check(server.client, known, highest);
      await watcher.resume(server.client);
      const stopped = { value: false };
      const writers = Array.from({ length: WRITERS }, (_, writer) =>
        write(server as Program, writer, known, random, stopped, (revision) => {
          highest = Math.max(highest, revision);
        }),
      );
      await new Promise((resolve) => setTimeout(resolve, 100 + random.next() * 500));
      server.child.kill("SIGKILL");
      stopped.value = true;
      await Promise.all(writers);
      server.client.close();
      await server.gone;
      await watcher.ended;
      options.onRound?.(round);
    }
    server = await startProgram({ dir });
    await check(server.client, known, highest);
    await watcher.resume(server.client);
    await watcher.matches(server.client);
    expect(highest, "the writers got something done").toBeGreaterThan(options.rounds * WRITERS);
  } finally {
    server?.client.close();
    server?.child.kill("SIGKILL");
    await server?.gone;
    await rm(dir, { recursive: true, force: true });
  }
}

async function write(
  { client }: Program,
  writer: number,
  known: Map<string, Known>,
  random: Random,
  stopped: { value: boolean },
  acknowledged: (revision: number) => void,
): Promise<void> {
  while (!stopped.value) {
    const name = `w${writer}-${random.below(KEYS_PER_WRITER)}`;
    const entry = known.get(name) ?? { acknowledged: 0, tried: 0, acknowledgedGone: true, triedGone: true };
    known.set(name, entry);
    const number = entry.tried + 1;
    const deletes = !entry.acknowledgedGone && random.next() < 0.1;
    Object.assign(entry, { tried: number, triedGone: deletes });
    const object = { metadata: { namespace: "default", name }, data: { number: String(number), padding: PADDING } };
    try {
      if (deletes) await client.delete(ConfigMap, `default/${name}`);
      else {
        const written = entry.acknowledgedGone
          ? await client.create(ConfigMap, object)
          : await client.patch(ConfigMap, `default/${name}`, { data: object.data });
        acknowledged(Number(written.metadata.resourceVersion));
      }
      Object.assign(entry, { acknowledged: number, acknowledgedGone: deletes });
    } catch (error) {
      if (!isKubeError(error) || error.kind === "status") throw error;
      return; // the server is gone; whether it did this last thing, the next start tells
    }
  }
}

/** Compares what is there with what was acknowledged; what was only tried may or may not have happened. */
async function check(client: Client, known: Map<string, Known>, highest: number): Promise<void> {
  const list = await client.list(ConfigMap, { namespace: "default" });
  expect(Number(list.metadata.resourceVersion), "the resourceVersion fell").toBeGreaterThanOrEqual(highest);
  for (const [name, entry] of known) {
    const found = await client.get(ConfigMap, `default/${name}`).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    const number = found ? Number(found.data?.number) : undefined;
    const possible = [
      entry.acknowledgedGone ? undefined : entry.acknowledged,
      entry.triedGone ? undefined : entry.tried,
    ];
    expect(possible, `${name}: acknowledged ${entry.acknowledged}, tried ${entry.tried}`).toContain(number);
    if (found) expect(found.data?.padding).toBe(PADDING);
    // From here on the state that was found is the one that counts.
    const happened = number === undefined ? entry.tried : number;
    Object.assign(entry, {
      acknowledged: happened,
      tried: Math.max(happened, entry.tried),
      acknowledgedGone: !found,
      triedGone: !found,
    });
  }
}

/** Keeps a copy of all objects by events alone, from the first start to the last. */
class Watcher {
  readonly #objects = new Map<string, string>();
  #revision = "";
  ended: Promise<void> = Promise.resolve();

  async resume(client: Client): Promise<void> {
    const options = {
      namespace: "default",
      allowWatchBookmarks: true,
      ...(this.#revision && { resourceVersion: this.#revision }),
    };
    const events = await client.watch(ConfigMap, options);
    this.ended = this.#follow(events);
  }

  async #follow(events: AsyncIterable<{ type: string; object: ConfigMap }>): Promise<void> {
    try {
      let initial = this.#revision === "";
      for await (const { type, object } of events) {
        expect(type, JSON.stringify(object).slice(0, 300)).not.toBe("ERROR");
        const { name, resourceVersion = "" } = object.metadata;
        // The first events tell what is, in order of name; all that follow come in order of revision.
        if (type !== "ADDED") initial = false;
        if (!initial)
          expect(Number(resourceVersion), "an event came twice or late").toBeGreaterThan(
            Number(this.#revision || 0) - (type === "BOOKMARK" ? 1 : 0),
          );
        this.#revision = String(Math.max(Number(resourceVersion), Number(this.#revision || 0)));
        if (type === "DELETED") this.#objects.delete(name);
        else if (type !== "BOOKMARK") this.#objects.set(name, object.data?.number ?? "");
      }
    } catch (error) {
      if (!isKubeError(error)) throw error; // the server was killed: that is what we are here for
    }
  }

  async matches(client: Client): Promise<void> {
    await eventually(async () => {
      const { items } = await client.list(ConfigMap, { namespace: "default" });
      const listed = items.map(({ metadata, data }) => [metadata.name, data?.number ?? ""] as const).sort();
      expect([...this.#objects].sort()).toEqual(listed);
    });
  }
}
