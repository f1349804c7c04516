/** Recognizes a provider whose program is Capstan itself, so that no process is needed to read a Secret. */
import { type ExecConfig, isPluginName, type PluginName } from "#kube";

export interface OwnProgram {
  /** Words that start Capstan: a path, or an interpreter and a path. */
  readonly commands: readonly (readonly string[])[];
  /** Kubeconfigs that lead to the hub that we are connected to. */
  readonly kubeconfigs: readonly string[];
}

export interface OwnPlugin {
  readonly builtin: PluginName;
  readonly managedServiceAccount?: string;
}

const ACCOUNT_FLAG = "--managed-serviceaccount";

/** The plugin that would be run, if it is ours, means our hub, and is told nothing that we would not understand. */
export function ownPluginOf(exec: ExecConfig, own: OwnProgram): OwnPlugin | undefined {
  const words = [exec.command, ...exec.args];
  const start = own.commands.find((command) => command.every((word, at) => words[at] === word));
  if (!start || !exec.provideClusterInfo || !meansOurHub(exec, own)) return undefined;
  const [verb, name = "", ...flags] = words.slice(start.length);
  if (verb !== "plugin" || !isPluginName(name)) return undefined;
  if (name !== "cp-creds") return flags.length === 0 ? { builtin: name } : undefined;
  const managedServiceAccount = accountOf(flags);
  return managedServiceAccount === undefined ? undefined : { builtin: name, managedServiceAccount };
}

function meansOurHub({ env }: ExecConfig, { kubeconfigs }: OwnProgram): boolean {
  return env.every(({ name, value }) => name === "KUBECONFIG" && kubeconfigs.includes(value));
}

function accountOf(flags: readonly string[]): string | undefined {
  const [flag = "", value, ...more] = flags.length === 1 ? (flags[0]?.split(/=(.*)/s) ?? []) : flags;
  return flag === ACCOUNT_FLAG && more.every((rest) => rest === "") ? value : undefined;
}
