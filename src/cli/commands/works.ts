/** `capstan create|get|delete work`, `capstan why work` and `capstan who`: what the hub wants on clusters. */
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { type TaskFlags, withTaskOptions } from "../administration-options.ts";
import { clusterName, clusterNames } from "../options.ts";
import { type TargetFlags, withTargetOptions } from "../target-options.ts";

interface PlanFlags {
  readonly plan?: boolean;
  readonly clusterprofileProviderFile?: string;
  readonly output: "table" | "json";
}

export interface CreateWorkFlags extends TaskFlags, PlanFlags {
  readonly filename: readonly string[];
  readonly recursive?: boolean;
  readonly overwrite?: boolean;
}

export interface DeleteWorkFlags extends TaskFlags, PlanFlags {
  readonly force?: boolean;
}

export interface WorksFlags extends TargetFlags {
  readonly cluster?: string;
  readonly output: "table" | "json" | "yaml";
}

export interface WhyFlags extends TargetFlags {
  readonly cluster: string;
  readonly clusterprofileProviderFile?: string;
  readonly output: "text" | "json";
}

export interface WhoFlags extends TargetFlags {
  readonly namespace?: string;
  readonly output: "text" | "json";
}

interface ClustersFlags {
  readonly clusters?: readonly string[];
  readonly cluster?: readonly string[];
}

const load = () => import("../actions/works.ts");

export function createWorkCommand(): Command {
  return withPlan(withClusters(withTaskOptions(onWork("work"))))
    .description("give manifests to clusters: their agents apply them, keep them so, and report")
    .requiredOption("-f, --filename <path>", "a file, a folder, or - for standard input; may be given again", gathered)
    .option("-R, --recursive", "folders in folders too")
    .option("--overwrite", "replace what a work of that name says")
    .action(async (name: string, flags: CreateWorkFlags & ClustersFlags, self: Command) =>
      (await load()).runCreateWork(name, clustersIn(flags, self), flags),
    );
}

export function deleteWorkCommand(): Command {
  return withPlan(withClusters(withTaskOptions(onWork("work"))))
    .description("take a work back from clusters, and wait until they have cleaned up")
    .option("--force", "do not wait for the cluster; what the work brought stays there")
    .action(async (name: string, flags: DeleteWorkFlags & ClustersFlags, self: Command) =>
      (await load()).runDeleteWork(name, clustersIn(flags, self), flags),
    );
}

export function getWorksCommand(): Command {
  return withTargetOptions(new Command("works"))
    .alias("work")
    .description("show the works of clusters, and how they fare")
    .option("-c, --cluster <name>", "only those of this cluster", clusterName)
    .addOption(
      new Option("-o, --output <form>", "how to show them").choices(["table", "json", "yaml"]).default("table"),
    )
    .action(async (flags: WorksFlags) => (await load()).showWorks(flags));
}

export function whyCommand(): Command {
  return new Command("why").description("say why something is as it is").addCommand(
    withTargetOptions(onWork("work"))
      .description("say which manifest of a work waits for what")
      .requiredOption("-c, --cluster <name>", "the cluster that the work is for", clusterName)
      .option("--clusterprofile-provider-file <file>", "how to get into the cluster (default: Capstan's own plugins)")
      .addOption(new Option("-o, --output <form>", "how to show it").choices(["text", "json"]).default("text"))
      .action(async (name: string, flags: WhyFlags) => (await load()).runWhyWork(name, flags)),
  );
}

export function whoCommand(): Command {
  return withTargetOptions(new Command("who"))
    .description("say which work placed an object on a cluster")
    .addArgument(new Argument("<kind/name>", "the object, such as deployment/web").argParser(kindAndName))
    .option("-n, --namespace <name>", "where it is (default: that of the context, or default)")
    .addOption(new Option("-o, --output <form>", "how to show it").choices(["text", "json"]).default("text"))
    .action(async (object: KindAndName, flags: WhoFlags) => (await load()).runWho(object, flags));
}

export interface KindAndName {
  readonly kind: string;
  readonly name: string;
}

function kindAndName(text: string): KindAndName {
  const [kind = "", name = "", ...more] = text.split("/");
  if (kind === "" || name === "" || more.length > 0) throw new InvalidArgumentError("It must be KIND/NAME.");
  return { kind, name };
}

function onWork(name: string): Command {
  return new Command(name).addArgument(new Argument("<name>", "the work").argParser(workName));
}

/** The rules of Kubernetes in short; the record on the cluster needs room before it. */
const WORK_NAME = /^(?=.{1,188}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

function workName(name: string): string {
  if (WORK_NAME.test(name)) return name;
  throw new InvalidArgumentError("It is no name of a work: lower-case letters, digits, '-' and '.', at most 188.");
}

function withClusters(command: Command): Command {
  return command
    .option("--clusters <names>", "the clusters, separated by commas", clusterNames)
    .option("-c, --cluster <names>", "the same", clusterNames);
}

function withPlan(command: Command): Command {
  return command
    .option("--plan", "only tell what would change on which cluster, field by field")
    .option("--clusterprofile-provider-file <file>", "how a plan gets into clusters (default: Capstan's own plugins)")
    .addOption(new Option("-o, --output <form>", "how to show a plan").choices(["table", "json"]).default("table"));
}

function clustersIn(flags: ClustersFlags, command: Command): string[] {
  const clusters = [...new Set([...(flags.clusters ?? []), ...(flags.cluster ?? [])])];
  if (clusters.length > 0) return clusters;
  return command.error("error: required option '--clusters <names>' not specified", { exitCode: 2 });
}

function gathered(path: string, before: readonly string[] = []): readonly string[] {
  return [...before, path];
}
