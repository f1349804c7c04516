/** The commands that there are: enough to show them all, and where each of them is, so that only the one that is meant is loaded. */
import type { Command } from "commander";
import { restQuietly, spareMemory } from "./resting.ts";

export interface Entry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Command>;
}

export const COMMANDS: readonly Entry[] = [
  {
    name: "up",
    summary: "run a fleet on this machine: a hub and its spokes",
    load: async () => {
      restQuietly();
      return (await import("./commands/up.ts")).upCommand();
    },
  },
  {
    name: "down",
    summary: "stop a fleet; its data stays",
    load: async () => (await import("./commands/down.ts")).downCommand(),
  },
  {
    name: "init",
    summary: "make a cluster a hub",
    load: async () => (await import("./commands/init.ts")).initCommand(),
  },
  {
    name: "join",
    summary: "let a cluster ask a hub to be let in",
    load: async () => (await import("./commands/join.ts")).joinCommand(),
  },
  {
    name: "accept",
    summary: "let clusters in that have asked",
    load: async () => (await import("./commands/accept.ts")).acceptCommand(),
  },
  {
    name: "rejoin",
    summary: "restore the identity of a cluster that lost it",
    load: async () => (await import("./commands/rejoin.ts")).rejoinCommand(),
  },
  {
    name: "get",
    summary: "show clusters, sets, works, tokens, Knative, and how a hub is",
    load: async () => (await import("./commands/get.ts")).getCommand(),
  },
  {
    name: "create",
    summary: "create a set of clusters, or give work to clusters",
    load: async () => (await import("./commands/clusterset.ts")).createCommand(),
  },
  {
    name: "delete",
    summary: "delete a set of clusters, work, or what lets clusters ask",
    load: async () => (await import("./commands/clusterset.ts")).deleteCommand(),
  },
  {
    name: "clusterset",
    summary: "fill sets of clusters, and lend them to namespaces",
    load: async () => (await import("./commands/clusterset.ts")).clusterSetCommand(),
  },
  {
    name: "why",
    summary: "say which manifest of a work waits for what",
    load: async () => (await import("./commands/works.ts")).whyCommand(),
  },
  {
    name: "who",
    summary: "say which work placed an object on a cluster",
    load: async () => (await import("./commands/works.ts")).whoCommand(),
  },
  {
    name: "unjoin",
    summary: "take a cluster out of the fleet",
    load: async () => (await import("./commands/unjoin.ts")).unjoinCommand(),
  },
  {
    name: "clean",
    summary: "remove all that made a cluster a hub",
    load: async () => (await import("./commands/clean.ts")).cleanCommand(),
  },
  {
    name: "doctor",
    summary: "say what is wrong with a hub or a spoke, and what mends it",
    load: async () => (await import("./commands/doctor.ts")).doctorCommand(),
  },
  {
    name: "knative",
    summary: "install Knative on clusters of the fleet, and remove it",
    load: async () => (await import("./commands/knative.ts")).knativeCommand(),
  },
  {
    name: "apply",
    summary: "make a cluster look as manifests say",
    load: async () => (await import("./commands/apply.ts")).applyCommand(),
  },
  {
    name: "hub",
    summary: "run the controllers of a hub",
    load: async () => {
      restQuietly();
      return (await import("./commands/hub.ts")).hubCommand();
    },
  },
  {
    name: "agent",
    summary: "run the agent of a spoke",
    load: async () => {
      spareMemory();
      return (await import("./commands/agent.ts")).agentCommand();
    },
  },
  {
    name: "webhook",
    summary: "answer the questions of API servers about the kinds of a hub",
    load: async () => (await import("./commands/webhook.ts")).webhookCommand(),
  },
  {
    name: "operator",
    summary: "run the operator of a hub or of a spoke",
    load: async () => (await import("./commands/operator.ts")).operatorCommand(),
  },
  {
    name: "apiserver",
    summary: "run embedded Kubernetes API servers",
    load: async () => {
      restQuietly();
      return (await import("./commands/apiserver.ts")).apiserverCommand();
    },
  },
  {
    name: "node",
    summary: "run a node for an API server without kubelets",
    load: async () => {
      restQuietly();
      return (await import("./commands/node.ts")).nodeCommand();
    },
  },
  {
    name: "plugin",
    summary: "give a credential to a Kubernetes client",
    load: async () => (await import("./commands/plugin.ts")).pluginCommand(),
  },
  {
    name: "completion",
    summary: "print a script by which a shell completes commands",
    load: async () => (await import("./commands/completion.ts")).completionCommand(),
  },
  {
    name: "version",
    summary: "print the version, and the cluster's",
    load: async () => (await import("./commands/version.ts")).versionCommand(),
  },
];
