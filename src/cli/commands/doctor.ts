/** `capstan doctor`: says what is wrong with a hub or a spoke, and what mends it. */
import { Command, Option } from "commander";
import { type TargetFlags, withTargetOptions } from "../target-options.ts";

export interface DoctorFlags extends TargetFlags {
  readonly output: "text" | "json";
}

export function doctorCommand(): Command {
  return withTargetOptions(new Command("doctor"))
    .description("look at a hub or a spoke, and say what is wrong and what mends it; exit 1 if something is broken")
    .addOption(new Option("-o, --output <form>", "how to show it").choices(["text", "json"]).default("text"))
    .action(async (flags: DoctorFlags) => (await import("../actions/doctor.ts")).runDoctor(flags));
}
