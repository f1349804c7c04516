/** `capstan node`: nodes for an API server that has no kubelets. */
import { hostname } from "node:os";
import { Command, InvalidArgumentError } from "commander";
import { count } from "../options.ts";

export interface NodeFlags {
  readonly kubeconfig: string;
  readonly context?: string;
  readonly name: string;
  readonly count: number;
  readonly image?: string;
  readonly isolate?: boolean;
}

export function nodeCommand(): Command {
  return new Command("node")
    .description("run a node: take the Pods of a cluster, run those of Capstan's own image, and simulate all others")
    .requiredOption("--kubeconfig <file>", "the cluster, and who the node is there")
    .option("--context <name>", "a context of the kubeconfig other than the current one")
    .option("--name <name>", "the node's name", nodeName, hostname().toLowerCase())
    .option("--count <n>", "so many nodes: NAME, NAME-2, NAME-3 …", count(1), 1)
    .option("--image <image>", "Capstan's own image, whose containers really run (default: capstan:VERSION)", image)
    .option("--isolate", "run each of them as a process of its own, not inside the node's")
    .action(async (flags: NodeFlags) => (await import("../actions/node.ts")).runNode(flags));
}

const NODE_NAME = /^[a-z0-9]([-a-z0-9.]{0,240}[a-z0-9])?$/;

function nodeName(name: string): string {
  if (NODE_NAME.test(name)) return name;
  throw new InvalidArgumentError("It must be lower-case letters, digits, '-' and '.'.");
}

function image(reference: string): string {
  if (/^\S+$/.test(reference)) return reference;
  throw new InvalidArgumentError("It must be the reference of an image, such as registry.example/capstan:1.0.");
}
