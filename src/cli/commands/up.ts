/** `capstan up`: a fleet on this machine. */
import { Command } from "commander";
import { count, defaultDirectory, port } from "../options.ts";

export interface UpFlags {
  readonly dir: string;
  readonly spokes: number;
  readonly port?: number;
  readonly detach?: boolean;
  readonly fresh?: boolean;
}

export function upCommand(): Command {
  return new Command("up")
    .description("run a fleet on this machine: a hub and its spokes, joined and working")
    .option("--dir <dir>", "the fleet's folder", defaultDirectory())
    .option("--spokes <n>", "how many spokes; more than before adds them, fewer removes none", count(0), 2)
    .option("--port <n>", "the first port to try for a new cluster (default: 16443)", port)
    .option("--detach", "return when the fleet works, and leave it running")
    .option("--fresh", "start from nothing; the fleet that was in the folder is lost")
    .action(async (flags: UpFlags) => (await import("../actions/up.ts")).runUp(flags));
}
