/** `capstan down`: stops a fleet. */
import { Command } from "commander";
import { down } from "#app";
import { defaultDirectory } from "../options.ts";
import { say } from "../terminal.ts";

export function downCommand(): Command {
  return new Command("down")
    .description("stop a fleet; its data stays")
    .option("--dir <dir>", "the fleet's folder", defaultDirectory())
    .option("--purge", "remove its data too")
    .action(async ({ dir, purge = false }: { dir: string; purge?: boolean }) => {
      const pid = await down({ dir, purge });
      say(pid === undefined ? `No fleet runs in ${dir}.` : `The fleet in ${dir} has stopped (pid ${pid}).`);
      if (purge) say("Its data is gone.");
    });
}
