/** `capstan create|delete clusterset` and `capstan clusterset …`: sets of clusters. */
import { Argument, Command, InvalidArgumentError } from "commander";
import { type TaskFlags, withTaskOptions } from "../administration-options.ts";
import { clusterNames, words } from "../options.ts";
import { createWorkCommand, deleteWorkCommand } from "./works.ts";

export interface BindingFlags extends TaskFlags {
  readonly namespace: string;
}

export interface MembersFlags extends TaskFlags {
  readonly clusters?: readonly string[];
  readonly namespaces?: readonly string[];
}

const load = () => import("../actions/clusterset.ts");

export function createCommand(): Command {
  return new Command("create")
    .description("create a set of clusters, or give work to clusters")
    .addCommand(
      onSet("clusterset")
        .description("create a set of clusters; those belong to it that its label names")
        .action(async (name: string, flags: TaskFlags) => (await load()).runCreate(name, flags)),
    )
    .addCommand(createWorkCommand());
}

export function deleteCommand(): Command {
  return new Command("delete")
    .description("delete a set of clusters, work of clusters, or what lets clusters ask to join")
    .addCommand(deleteWorkCommand())
    .addCommand(
      onSet("clusterset")
        .description("delete a set of clusters that no namespace uses")
        .action(async (name: string, flags: TaskFlags) => (await load()).runDelete(name, flags)),
    )
    .addCommand(
      withTaskOptions(new Command("token"))
        .description("delete what lets clusters ask to join; those that were let in stay")
        .action(async (flags: TaskFlags) => (await import("../actions/token.ts")).runDeleteToken(flags)),
    );
}

export function clusterSetCommand(): Command {
  return new Command("clusterset")
    .description("fill sets of clusters, and lend them to namespaces")
    .addCommand(
      withNamespace(onSet("bind"))
        .description("let a namespace use a set")
        .action(async (name: string, flags: BindingFlags) => (await load()).runBind(name, flags)),
    )
    .addCommand(
      withNamespace(onSet("unbind"))
        .description("no longer let a namespace use a set")
        .action(async (name: string, flags: BindingFlags) => (await load()).runUnbind(name, flags)),
    )
    .addCommand(
      onSet("set")
        .description("put clusters into a set, out of the one that they are in")
        .option("--clusters <names>", "the clusters, separated by commas", clusterNames)
        .option("--namespaces <names>", "namespaces that the set is to manage on its clusters", words)
        .action(async (name: string, flags: MembersFlags, self: Command) => {
          if (!flags.clusters && !flags.namespaces) {
            self.error("error: say what to put into the set: --clusters <names> or --namespaces <names>", {
              exitCode: 2,
            });
          }
          await (await load()).runSet(name, flags);
        }),
    );
}

function onSet(name: string): Command {
  return withTaskOptions(new Command(name)).addArgument(new Argument("<name>", "the set").argParser(setName));
}

function withNamespace(command: Command): Command {
  return command.option("-n, --namespace <name>", "the namespace", namespaceName, "default");
}

/** The rules of Kubernetes in short; what is wrong in detail the server says. */
const SET_NAME = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NAMESPACE_NAME = /^(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

function setName(name: string): string {
  if (SET_NAME.test(name)) return name;
  throw new InvalidArgumentError("It is no name of a set: lower-case letters, digits, '-' and '.'.");
}

function namespaceName(name: string): string {
  if (NAMESPACE_NAME.test(name)) return name;
  throw new InvalidArgumentError("It is no namespace: lower-case letters, digits and '-', at most 63.");
}
