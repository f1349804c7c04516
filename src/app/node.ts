/** Composition root of nodes: they know one API server, embedded or real, and nothing of how it was started. */
import { runNodes } from "#features/node";
import type { Client } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { connectedCluster } from "#runtime";

export interface NodeOptions {
  /** Closed when the nodes have stopped. */
  readonly client: Client;
  readonly names: readonly string[];
  /** The version of Capstan, which the nodes report. */
  readonly version: string;
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

export function startNodes({ client, names, version, clock, log }: NodeOptions): RunningNodes {
  const stopping = new AbortController();
  const cluster = connectedCluster({ name: client.server, client, clock, log });
  let ready = () => {};
  const ours = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const stopped = runNodes({ cluster, names, version, clock, log, signal: stopping.signal, ready }).finally(() =>
    client.close(),
  );
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
