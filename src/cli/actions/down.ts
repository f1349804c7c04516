/** Stops a fleet for `capstan down`. */
import { down } from "#app";
import type { DownFlags } from "../commands/down.ts";
import { say } from "../terminal.ts";

export async function runDown({ dir, purge = false }: DownFlags): Promise<void> {
  const pid = await down({ dir, purge });
  say(pid === undefined ? `No fleet runs in ${dir}.` : `The fleet in ${dir} has stopped (pid ${pid}).`);
  if (purge) say("Its data is gone.");
}
