/** What a program of ours gets that was started from a terminal, or by a node as a process of its own. */
import type { ProgramContext } from "#app";
import { realPath } from "./mounts.ts";
import { stopSignal } from "./signals.ts";
import { say } from "./terminal.ts";

export function processContext(): ProgramContext {
  endWithNode();
  const env = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    args: process.argv.slice(2),
    env: Object.fromEntries(env),
    resolve: realPath,
    write: say,
    // A node listens to the processes that it has started; nobody else does.
    ready: () => void process.send?.({ ready: true }),
    signal: stopSignal(),
  };
}

/** A node that is killed has no time to end its programs, but its end closes the channel to each of them. */
function endWithNode(): void {
  if (!process.send) return;
  if (!process.connected) process.exit(1); // it closed while we were starting
  process.once("disconnect", () => process.exit(1));
  process.channel?.unref(); // listening must not keep a program alive that has done its work
}
