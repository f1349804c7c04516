/** `capstan init`: makes a cluster a hub. */
import { Command, Option } from "commander";
import {
  type InstallationFlags,
  onlyCsr,
  type TaskFlags,
  withInstallationOptions,
  withRefusedDrivers,
  withTaskOptions,
} from "../administration-options.ts";
import { withHubOptions } from "../hub-options.ts";
import { words } from "../options.ts";

export interface InitFlags extends TaskFlags, InstallationFlags {
  readonly wait?: boolean;
  readonly force?: boolean;
  readonly useBootstrapToken?: boolean;
  readonly autoApprovedCsrIdentities?: readonly string[];
  readonly clusterAutoApprovalUsers?: readonly string[];
  readonly outputJoinCommandFile?: string;
  readonly output: "text" | "json";
}

/** The flags of a hub that are handed on to its programs. */
const HANDED_ON: readonly string[] = [
  "--controllers",
  "--detach-patience",
  "--gc-resource-list",
  "--clusterprofile-provider-file",
  "--remote-deployments-poll-interval",
  "--knative-removal-patience",
  "--knative-manifests",
  "--knative-cache",
  "--knative-mirror",
  "--manifest-allow-hosts",
];

export function initCommand(): Command {
  const command = withInstallationOptions(
    withTaskOptions(new Command("init")).description("make a cluster a hub, and print how clusters join it"),
    "features to turn on or off: ClusterProfile=true,…",
  )
    .option("--wait", "return when the hub works; exit 3 if it does not in time")
    .option("--force", "skip what is looked at before anything is done")
    .option("--use-bootstrap-token", "give out a bootstrap token, which does not end, in place of a service account's")
    .option("--registration-drivers <drivers>", "how clusters register: csr", onlyCsr)
    .option(
      "--auto-approved-csr-identities <users>",
      "let in without a person whom these users register; needs the gate ManagedClusterAutoApproval",
      words,
    )
    .option("--cluster-auto-approval-users <users>", "the same", words)
    .option("--output-join-command-file <file>", "write the join command to a file too")
    .addOption(
      new Option("-o, --output <form>", "how to show the join command").choices(["text", "json"]).default("text"),
    );
  withRefusedDrivers(command, [
    "--hub-cluster-arn",
    "--aws-resource-tags",
    "--auto-approved-arn-patterns",
    "--auto-approved-grpc-identities",
    "--grpc-server",
    "--grpc-endpoint-type",
  ]);
  for (const option of handedOnOptions()) command.addOption(option);
  return command.action(async (flags: InitFlags, self: Command) =>
    (await import("../actions/init.ts")).runInit(flags, handedOn(self)),
  );
}

/** As `capstan hub` has them; what was said is kept as it was said, once it is known to make sense. */
function handedOnOptions(): Option[] {
  return withHubOptions(new Command()).options.flatMap((option) => {
    if (!HANDED_ON.includes(option.long ?? "")) return [];
    const { parseArg } = option;
    const check = (text: string) => {
      parseArg?.(text, undefined as never);
      return text;
    };
    return [new Option(option.flags, option.description).argParser(check)];
  });
}

/** Flags and what was said of them. */
function handedOn(command: Command): [flag: string, value: string][] {
  return command.options.flatMap((option): [string, string][] => {
    const value: unknown = command.getOptionValue(option.attributeName());
    return HANDED_ON.includes(option.long ?? "") && typeof value === "string" ? [[option.long ?? "", value]] : [];
  });
}
