/** `capstan down`: stops a fleet. */
import { Command } from "commander";
import { defaultDirectory } from "../options.ts";

export interface DownFlags {
  readonly dir: string;
  readonly purge?: boolean;
}

export function downCommand(): Command {
  return new Command("down")
    .description("stop a fleet; its data stays")
    .option("--dir <dir>", "the fleet's folder", defaultDirectory())
    .option("--purge", "remove its data too")
    .action(async (flags: DownFlags) => (await import("../actions/down.ts")).runDown(flags));
}
