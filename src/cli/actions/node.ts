/** Runs nodes for `capstan node`, in the foreground. */
import { nodeNames, startNodes } from "#app";
import { createClient } from "#kube";
import { systemClock } from "#lib/clock";
import { createLogger } from "#lib/log";
import { answers } from "../answers.ts";
import type { NodeFlags } from "../commands/node.ts";
import { ENTRY } from "../entry.ts";
import { logLevel } from "../options.ts";
import { runProgram } from "../programs.ts";
import { stopSignal, whenFired } from "../signals.ts";
import { targetOf } from "../target.ts";
import { say } from "../terminal.ts";
import { version } from "../version.ts";

export async function runNode({ name, count, image, isolate = false, ...target }: NodeFlags): Promise<void> {
  const signal = stopSignal();
  const connection = await targetOf(target);
  const client = createClient({ connection });
  const isThere = await answers(client, signal).catch((error: unknown) => {
    client.close();
    throw error;
  });
  if (!isThere) return client.close();
  const { server: url, ca } = connection;
  const nodes = startNodes({
    client,
    names: nodeNames(name, count),
    version: version(),
    own: {
      ...(image !== undefined && { image }),
      run: runProgram,
      ...(isolate && { isolatedBy: ENTRY }),
      server: { url, ...(ca !== undefined && { ca }) },
    },
    clock: systemClock,
    log: createLogger({ level: logLevel(), format: "human", clock: systemClock, write: say }),
  });
  nodes.registered.then(
    () => say(`${nodes.names.join(", ")} ready on ${client.server}; Ctrl-C stops`),
    () => {}, // told below
  );
  await Promise.race([whenFired(signal), nodes.stopped]);
  await nodes.stop();
}
