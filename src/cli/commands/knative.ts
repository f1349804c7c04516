/** `capstan knative …`: Knative on the clusters of a fleet. */

import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { didYouMean } from "#lib/suggestion";
import { type ReleaseFlags, withReleaseOptions } from "../hub-options.ts";
import { duration, words } from "../options.ts";
import { type TargetFlags, withTargetOptions } from "../target-options.ts";

const COMPONENTS = ["serving", "eventing"] as const;
export type Component = (typeof COMPONENTS)[number];
const INGRESSES = ["kourier", "istio", "contour", "gateway-api"] as const;
export type Ingress = (typeof INGRESSES)[number] | "none";
const SOURCES = ["ceph", "github", "gitlab", "kafka", "rabbitmq", "redis"] as const;

/** Which installation is meant. */
export interface InstallationFlags extends TargetFlags {
  readonly cluster?: string;
  readonly name?: string;
  readonly namespace?: string;
}

export interface WaitFlags {
  readonly wait?: boolean;
  readonly timeout: number;
}

export interface PlanFlags extends InstallationFlags, ReleaseFlags {
  readonly version?: string;
  readonly ingress?: Ingress;
  readonly clusterprofileProviderFile?: string;
  readonly output: "table" | "json" | "yaml";
}

export interface InstallFlags extends PlanFlags, WaitFlags {
  readonly plan?: boolean;
}

export interface RemoveFlags extends InstallationFlags, WaitFlags {}

export interface PullFlags extends ReleaseFlags {
  readonly kind: readonly Component[];
  readonly ingress: readonly Ingress[];
  readonly source: readonly string[];
  readonly refresh?: boolean;
  readonly output: "table" | "json" | "yaml";
}

const TEN_MINUTES_MS = 10 * 60_000;

export function knativeCommand(): Command {
  return new Command("knative")
    .description("install Knative Serving and Eventing on clusters of the fleet, and remove them")
    .addCommand(installCommand())
    .addCommand(planCommand())
    .addCommand(removeCommand())
    .addCommand(pullCommand())
    .addCommand(definitionsCommand());
}

function installCommand(): Command {
  const command = withInstallation(new Command("install"))
    .description("ask for Knative on a cluster, or change what was asked for")
    .option("--plan", "only tell what would be done, field by field");
  return withWait(withPlan(command), "return when it works; exit 3 if it does not in time").action(
    async (component: Component, flags: InstallFlags, self: Command) => {
      refuseIngressOfEventing(component, flags, self);
      const { runInstall, runPlan } = await import("../actions/knative.ts");
      await (flags.plan ? runPlan(component, flags) : runInstall(component, flags));
    },
  );
}

function planCommand(): Command {
  return withPlan(withInstallation(new Command("plan")))
    .description("tell what `install` would do to a cluster, field by field, and change nothing")
    .action(async (component: Component, flags: PlanFlags, self: Command) => {
      refuseIngressOfEventing(component, flags, self);
      await (await import("../actions/knative.ts")).runPlan(component, flags);
    });
}

function removeCommand(): Command {
  const command = withInstallation(new Command("remove")).description("remove Knative from a cluster");
  return withWait(command, "return when nothing is left; exit 3 if that takes too long").action(
    async (component: Component, flags: RemoveFlags) =>
      (await import("../actions/knative.ts")).runRemove(component, flags),
  );
}

function pullCommand(): Command {
  const command = new Command("pull")
    .description(
      "put official releases into a folder, for hubs without a network (--knative-cache or --knative-manifests)",
    )
    .addArgument(new Argument("<version>", "1.23.0, or 1.23 for the newest patch that is known"))
    .option("--kind <kinds>", "serving, eventing, or both", several(COMPONENTS), [...COMPONENTS])
    .option("--ingress <names>", "the ingresses that come along, or none", several([...INGRESSES, "none"]), [
      ...INGRESSES,
    ])
    .option("--source <names>", "the event sources that come along", several(SOURCES), [])
    .option("--refresh", "take what is there now, though it was something else before");
  return withOutput(withReleaseOptions(command)).action(async (version: string, flags: PullFlags) =>
    (await import("../actions/knative-pull.ts")).runPull(version, flags),
  );
}

function definitionsCommand(): Command {
  return new Command("definitions")
    .description("print the CustomResourceDefinitions of KnativeServing and KnativeEventing, for kubectl apply -f -")
    .action(async () => (await import("../actions/knative.ts")).printDefinitions());
}

function withInstallation(command: Command): Command {
  const component = new Argument("[component]", "serving or eventing").argParser(one(COMPONENTS)).default("serving");
  return withTargetOptions(command)
    .addArgument(component)
    .option("--cluster <name>", "a ClusterProfile: NAMESPACE/NAME, or NAME in fleet-system (default: the hub itself)")
    .option("--name <name>", "of the KnativeServing or KnativeEventing (default: after the cluster)")
    .option("-n, --namespace <name>", "where on the hub it is (default: knative-serving or knative-eventing)");
}

function withPlan(command: Command): Command {
  command
    .option("--version <version>", "1.23, 1.23.0 or latest (default: what is there, or the newest)")
    .option(
      "--ingress <name>",
      "kourier, istio, contour, gateway-api or none (default: what is there, or kourier)",
      one([...INGRESSES, "none"]),
    )
    .option("--clusterprofile-provider-file <file>", "for a plan: the hub's access providers (default: the fleet's)");
  return withOutput(withReleaseOptions(command));
}

function withWait(command: Command, what: string): Command {
  return command
    .option("--wait", what)
    .addOption(
      new Option("--timeout <time>", "how long --wait waits").argParser(duration).default(TEN_MINUTES_MS, "10m"),
    );
}

function withOutput(command: Command): Command {
  return command.addOption(
    new Option("-o, --output <form>", "how to show it").choices(["table", "json", "yaml"]).default("table"),
  );
}

function refuseIngressOfEventing(component: Component, { ingress }: PlanFlags, command: Command): void {
  if (component === "eventing" && ingress !== undefined) {
    command.error("error: Eventing has no ingress; leave --ingress out", { exitCode: 2 });
  }
}

function one<T extends string>(choices: readonly T[]): (word: string) => T {
  return (word) => {
    const found = choices.find((choice) => choice === word);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`It must be one of ${choices.join(", ")}${didYouMean(word, choices)}.`);
  };
}

function several<T extends string>(choices: readonly T[]): (text: string) => T[] {
  return (text) => words(text).map(one(choices));
}
