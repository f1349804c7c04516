/** `capstan version`: of this program, and of the cluster where one is reached. */
import { Command, Option } from "commander";
import { type TargetFlags, withTargetOptions } from "../target-options.ts";

export interface VersionFlags extends TargetFlags {
  readonly client?: boolean;
  readonly output: "text" | "json";
}

export function versionCommand(): Command {
  return withTargetOptions(new Command("version"))
    .description("print the version, and that of the cluster where one is reached")
    .option("--client", "only this program's")
    .addOption(new Option("-o, --output <form>", "how to show it").choices(["text", "json"]).default("text"))
    .action(async (flags: VersionFlags) => (await import("../actions/version.ts")).showVersion(flags));
}
