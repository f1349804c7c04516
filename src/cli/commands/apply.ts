/** `capstan apply`: makes a cluster look as manifests say. */
import { Command, InvalidArgumentError, Option } from "commander";
import { duration } from "../options.ts";
import { type TargetFlags, withTargetOptions } from "../target-options.ts";

/** At most so many objects, and so many of a hundred, are removed at once. */
interface Removals {
  readonly objects: number;
  readonly percent: number;
}

export interface ApplyFlags extends TargetFlags {
  readonly filename: readonly string[];
  readonly recursive?: boolean;
  readonly namespace?: string;
  readonly plan?: boolean;
  readonly prune?: boolean;
  readonly set?: string;
  readonly maxRemovals?: Removals;
  readonly pruneContainers?: boolean;
  readonly fieldManager: string;
  readonly forceConflicts?: boolean;
  readonly validate: "strict" | "warn" | "ignore";
  readonly wait?: boolean;
  readonly timeout: number;
  readonly output: "table" | "json" | "yaml";
}

const FIVE_MINUTES_MS = 5 * 60_000;

export function applyCommand(): Command {
  return withTargetOptions(new Command("apply"))
    .description("make a cluster look as manifests say, and tell of each object what was done and why")
    .requiredOption("-f, --filename <path>", "a file, a folder, or - for standard input; may be given again", gathered)
    .option("-R, --recursive", "folders in folders too")
    .option("-n, --namespace <name>", "for objects that name none (default: that of the context, or default)")
    .option("--plan", "only tell what would be done, field by field")
    .option("--set <name>", "record the objects as a set of this NAME or NAMESPACE/NAME")
    .option("--prune", "remove what the set contained and no longer does")
    .option(
      "--max-removals <limit>",
      "remove at most so many: a number, a share like 20%, or all (default: 100 and 50%)",
      removals,
    )
    .option("--prune-containers", "remove Namespaces and CustomResourceDefinitions too, with all that is in them")
    .option("--field-manager <name>", "who answers for the fields", "capstan")
    .option("--force-conflicts", "take over fields that others claim")
    .addOption(
      new Option("--validate <mode>", "what becomes of fields that the server does not know")
        .choices(["strict", "warn", "ignore"])
        .default("strict"),
    )
    .option("--wait", "return when what was applied works; exit 3 if it does not in time")
    .addOption(
      new Option("--timeout <time>", "how long prerequisites, and with --wait readiness, may take")
        .argParser(duration)
        .default(FIVE_MINUTES_MS, "5m"),
    )
    .addOption(
      new Option("-o, --output <form>", "how to show what was done")
        .choices(["table", "json", "yaml"])
        .default("table"),
    )
    .action(async (flags: ApplyFlags, command: Command) => {
      if (flags.prune && flags.set === undefined) {
        command.error("error: --prune needs --set <name>: it removes what that set contained before", { exitCode: 2 });
      }
      await (await import("../actions/apply.ts")).runApply(flags);
    });
}

function gathered(path: string, before: readonly string[] = []): readonly string[] {
  return [...before, path];
}

function removals(text: string): Removals {
  if (text === "all") return { objects: Number.POSITIVE_INFINITY, percent: 100 };
  const [, amount = "", sign] = /^(\d{1,9})(%?)$/.exec(text) ?? [];
  if (amount === "" || (sign === "%" && Number(amount) > 100)) {
    throw new InvalidArgumentError("It must be a number, a share like 20%, or all.");
  }
  return sign === "%"
    ? { objects: Number.POSITIVE_INFINITY, percent: Number(amount) }
    : { objects: Number(amount), percent: 100 };
}
