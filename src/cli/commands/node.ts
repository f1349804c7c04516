/** `capstan node`: nodes for an API server that has no kubelets. */
import { hostname } from "node:os";
import { Command, InvalidArgumentError } from "commander";
import { count } from "../options.ts";

export interface NodeFlags {
  readonly kubeconfig: string;
  readonly context?: string;
  readonly name: string;
  readonly count: number;
}

export function nodeCommand(): Command {
  return new Command("node")
    .description("run a node: take the Pods of a cluster, and simulate them")
    .requiredOption("--kubeconfig <file>", "the cluster, and who the node is there")
    .option("--context <name>", "a context of the kubeconfig other than the current one")
    .option("--name <name>", "the node's name", nodeName, hostname().toLowerCase())
    .option("--count <n>", "so many nodes: NAME, NAME-2, NAME-3 …", count(1), 1)
    .action(async (flags: NodeFlags) => (await import("../actions/node.ts")).runNode(flags));
}

const NODE_NAME = /^[a-z0-9]([-a-z0-9.]{0,240}[a-z0-9])?$/;

function nodeName(name: string): string {
  if (NODE_NAME.test(name)) return name;
  throw new InvalidArgumentError("It must be lower-case letters, digits, '-' and '.'.");
}
