/** The flags that say which cluster a command means. */
import type { Command } from "commander";

export interface TargetFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly dir?: string;
}

export function withTargetOptions(command: Command): Command {
  return command
    .option("--kubeconfig <file>", "the kubeconfig to use")
    .option("--context <name>", "the context in it")
    .option("--dir <dir>", "the folder of the fleet to use");
}
