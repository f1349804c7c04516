/** Servers and clients of a test file, closed after each test. */
import { afterEach } from "vitest";
import type { Clock } from "#lib/clock";
import { createClient } from "../client.ts";
import type { Connection } from "../config/connection.ts";
import { KubeError } from "../errors.ts";
import type { Client } from "../types.ts";
import { type Script, type ScriptedServer, type ScriptedServerOptions, scriptedServer } from "./scripted-server.ts";

export interface Bench {
  serve(script: Script, options?: ScriptedServerOptions): Promise<ScriptedServer>;
  connect(connection: Connection, clock?: Clock): Client;
  /** Runs after the test, the last one first. */
  afterwards(cleanup: () => void | Promise<void>): void;
}

export function testBench(): Bench {
  const cleanups: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });
  return {
    async serve(script, options) {
      const server = await scriptedServer(script, options);
      cleanups.push(() => server.stop());
      return server;
    },
    connect(connection, clock) {
      const client = createClient({ connection, ...(clock && { clock }) });
      cleanups.push(() => client.close());
      return client;
    },
    afterwards(cleanup) {
      cleanups.push(cleanup);
    },
  };
}

/** What a request failed with. */
export async function failure(promise: Promise<unknown>): Promise<KubeError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof KubeError)) throw new Error(`expected a KubeError, not ${error}`);
  return error;
}
