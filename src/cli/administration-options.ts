/** The flags that the administrator's commands share. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { parseDuration } from "#lib/duration";
import { type TargetFlags, withTargetOptions } from "./target-options.ts";

export interface TaskFlags extends TargetFlags {
  readonly dryRun?: boolean;
  /** In milliseconds. */
  readonly timeout: number;
}

const FIVE_MINUTES_MS = 5 * 60_000;

/** Which cluster, for how long at most, and whether anything is done at all. */
export function withTaskOptions(command: Command): Command {
  return withTargetOptions(command)
    .option("--dry-run", "only tell what would be created, changed or deleted")
    .addOption(
      new Option("--timeout <time>", "how long it may wait: seconds, or a duration like 5m")
        .argParser(patience)
        .default(FIVE_MINUTES_MS, "300"),
    );
}

/** `300` as `clusteradm` has it, or `5m`; in milliseconds. */
export function patience(text: string): number {
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : parseDuration(text);
  if (ms === undefined || ms <= 0 || ms > 2 ** 31 - 1) {
    throw new InvalidArgumentError("It must be seconds, or a duration like 90s or 5m.");
  }
  return ms;
}

/** A flag that is true by itself and false as `--flag=false`. */
export function yes(flag: string, description: string): Option {
  return new Option(`${flag} [bool]`, description).argParser(truth).default(true);
}

function truth(text: string): boolean {
  if (text !== "true" && text !== "false") throw new InvalidArgumentError("It must be true or false.");
  return text === "true";
}

export interface InstallationFlags {
  readonly image?: string;
  readonly imageRegistry?: string;
  readonly bundleVersion?: string;
  readonly imagePullCredentialFile?: string;
  readonly createNamespace: boolean;
  readonly enableSyncLabels?: boolean;
  readonly featureGates?: string;
  readonly resourceQosClass?: "Default" | "BestEffort" | "ResourceRequirement";
  readonly resourceLimits?: string;
  readonly resourceRequests?: string;
  readonly outputFile?: string;
}

/** What an installation is made of and what it may use; `init` and `join` have these in common. */
export function withInstallationOptions(command: Command, gates: string): Command {
  return command
    .option("--image <image>", "Capstan's image (default: capstan:VERSION)")
    .option("--image-registry <registry>", "the registry that has it: REGISTRY/capstan:VERSION")
    .option("--image-pull-credential-file <file>", "a Docker configuration for a registry that asks who you are")
    .option("--bundle-version <version>", "default and latest are this Capstan itself")
    .addOption(yes("--create-namespace", "create the operator's namespace"))
    .option("--enable-sync-labels", "copy the labels of the object onto all that is made for it")
    .option("--feature-gates <gates>", gates)
    .addOption(
      new Option("--resource-qos-class <class>", "what every container asks for").choices([
        "Default",
        "BestEffort",
        "ResourceRequirement",
      ]),
    )
    .option("--resource-limits <amounts>", "cpu=800m,memory=800Mi; needs the class ResourceRequirement")
    .option("--resource-requests <amounts>", "cpu=400m,memory=400Mi; needs the class ResourceRequirement")
    .option("--output-file <file>", "write what is put on the cluster to a file too; it may hold secrets");
}

/** Flags of other ways to register than by certificate requests: known, and refused with a reason. */
export function withRefusedDrivers(command: Command, flags: readonly string[]): Command {
  for (const flag of flags) {
    const refuse = () => {
      throw new InvalidArgumentError("Capstan registers clusters by certificate requests (csr) only.");
    };
    command.addOption(new Option(`${flag} <value>`).argParser(refuse).hideHelp());
  }
  return command;
}

/** `csr`, and no other. */
export function onlyCsr(text: string): string {
  const other = text.split(",").find((word) => word.trim() !== "csr");
  if (other !== undefined) {
    throw new InvalidArgumentError(
      `${JSON.stringify(other.trim())} is not here: Capstan registers clusters by certificate requests (csr) only.`,
    );
  }
  return text;
}
