/** The programs of Capstan's image, for a node that runs them inside this process. */
import { Command, CommanderError } from "commander";
import type { ProgramContext, RunProgram } from "#app";
import { agentCommand } from "./commands/agent.ts";
import { hubCommand } from "./commands/hub.ts";
import { operatorCommand } from "./commands/operator.ts";
import { webhookCommand } from "./commands/webhook.ts";
import { withPortOfItsOwn } from "./mounts.ts";

/** Runs what the arguments of a container say. What goes wrong is in its log, and in its exit code. */
export const runProgram: RunProgram = async (context) => {
  const root = new Command("capstan").exitOverride().enablePositionalOptions();
  const write = (text: string) => context.write(text.trimEnd());
  for (const command of [hubCommand, agentCommand, operatorCommand, webhookCommand]) root.addCommand(command(context));
  inherit(root.configureOutput({ writeOut: write, writeErr: write }));
  try {
    await root.parseAsync(withPortOfItsOwn(context.args), { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    sayFailure(error, context);
    return 1;
  }
};

function inherit(command: Command): void {
  for (const inner of command.commands) {
    inner.exitOverride().copyInheritedSettings(command);
    inherit(inner);
  }
}

function sayFailure(error: unknown, { write }: ProgramContext): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  for (const line of text.split("\n")) write(line);
}
