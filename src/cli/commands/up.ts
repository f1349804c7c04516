/** `capstan up`: a fleet on this machine. */
import { Command, Option } from "commander";
import { type HubFlags, withHubOptions } from "../hub-options.ts";
import { count, defaultDirectory, port } from "../options.ts";

export interface UpFlags extends HubFlags {
  readonly dir: string;
  readonly spokes: number;
  readonly port?: number;
  readonly detach?: boolean;
  readonly fresh?: boolean;
  readonly with?: "knative";
}

export function upCommand(): Command {
  const command = new Command("up")
    .description("run a fleet on this machine: a hub and its spokes, joined and working")
    .option("--dir <dir>", "the fleet's folder", defaultDirectory())
    .option("--spokes <n>", "how many spokes; more than before adds them, fewer removes none", count(0), 2)
    .option("--port <n>", "the first port to try for a new cluster (default: 16443)", port)
    .option("--detach", "return when the fleet works, and leave it running")
    .option("--fresh", "start from nothing; the fleet that was in the folder is lost")
    .addOption(
      new Option(
        "--with <what>",
        "put Knative Serving on cluster1: a demonstration, unless --knative-manifests has releases",
      ).choices(["knative"]),
    );
  return withHubOptions(command).action(async (flags: UpFlags) => (await import("../actions/up.ts")).runUp(flags));
}
