/** Composition root of nodes: they know one API server, embedded or real, and nothing of how it was started. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OwnImage, type RunProgram, runNodes } from "#features/node";
import type { Client } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { connectedCluster } from "#runtime";

export type { ProgramContext, RunProgram } from "#features/node";

/** How nodes run the containers of Capstan's own image. */
export interface OwnPrograms {
  /** `capstan:VERSION` unless told. */
  readonly image?: string;
  readonly run: RunProgram;
  /** What Node is started with for a program; then each container is a process of its own. */
  readonly isolatedBy?: string;
}

export interface NodeOptions {
  /** Closed when the nodes have stopped. */
  readonly client: Client;
  readonly names: readonly string[];
  /** The version of Capstan, which the nodes report. */
  readonly version: string;
  /** Without it the containers of Capstan's own image are simulated as all others. */
  readonly own?: OwnPrograms & {
    /** Where the files of Pods lie; a folder that goes with the nodes unless told. */
    readonly root?: string;
    /** The API server as programs reach it; as the nodes do unless told. */
    readonly server?: OwnImage["server"];
  };
  readonly clock: Clock;
  readonly log: Logger;
}

export interface RunningNodes {
  readonly names: readonly string[];
  /** Ends when all of them are registered; rejects when they fail before. */
  readonly registered: Promise<void>;
  /** Ends when they have stopped; rejects when they failed. */
  readonly stopped: Promise<void>;
  stop(): Promise<void>;
}

/** What is under way when they are told to stop may take so long; a server that does not answer is not waited for. */
const GRACE_MS = 1_000;

/** The first node is named so; further ones have a number behind it. */
export function nodeNames(first: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => (index === 0 ? first : `${first}-${index + 1}`));
}

export function startNodes(options: NodeOptions): RunningNodes {
  const { client, names, version, own, clock, log } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const cluster = connectedCluster({ name: client.server, client, clock, log });
  let ready = () => {};
  const ours = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const run = (image?: OwnImage) =>
    runNodes({ cluster, names, version, clock, log, signal, ready, ...(image && { own: image }) });
  const stopped = (own ? withOwnImage(own, options, run) : run()).finally(() => client.close());
  const registered = Promise.race([ours, stopped]);
  registered.catch(() => {}); // whoever waits for `stopped` hears of it
  return {
    names,
    registered,
    stopped,
    async stop() {
      stopping.abort();
      const cancel = clock.after(GRACE_MS, () => client.close());
      await stopped.finally(cancel);
    },
  };
}

async function withOwnImage(
  own: NonNullable<NodeOptions["own"]>,
  { client, version }: NodeOptions,
  run: (own: OwnImage) => Promise<void>,
): Promise<void> {
  const { image = `capstan:${version}`, root, server = { url: client.server }, ...rest } = own;
  const folder = root ?? (await mkdtemp(join(tmpdir(), "capstan-node-")));
  try {
    await run({ image, root: folder, server, ...rest });
  } finally {
    if (root === undefined) await rm(folder, { recursive: true, force: true });
  }
}
