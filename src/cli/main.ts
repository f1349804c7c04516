#!/usr/bin/env node
/** The command line. Data goes to stdout, talk to stderr; the exit code says how it ended. */
import { Command, CommanderError } from "commander";
import { COMMANDS } from "./commands.ts";
import { withoutMounts } from "./mounts.ts";
import { say } from "./terminal.ts";
import { version } from "./version.ts";

const ExitCode = { done: 0, failed: 1, usage: 2 } as const;

/**
 * Errors whose message is meant for a person, by name: what throws them is loaded only by the command that needs it,
 * so that every command starts fast.
 */
const FOR_PEOPLE: ReadonlySet<string> = new Set(["UserError", "KubeconfigError", "KubeError", "LeadershipLost"]);

const program = new Command("capstan")
  .description("A hub-and-spoke control plane for fleets of Kubernetes clusters.")
  .version(version(), "-V, --version", "print the version")
  .helpCommand(false)
  .showSuggestionAfterError()
  .configureHelp({ subcommandTerm: (command) => command.name() })
  .exitOverride()
  .configureOutput({ outputError: (text, write) => write(`${oneLine(text)}\n`) });

const args = withoutMounts(process.argv.slice(2));
for (const { name, summary, load } of COMMANDS) {
  const isMeant = args[0] === name || args[0] === "completion"; // which completes all of them
  const command = isMeant ? await load() : new Command(name);
  program.addCommand(inherit(command.summary(summary)));
}

// The program's own options come first, so that a command may have a --version of its own.
program.enablePositionalOptions();

try {
  await program.parseAsync(args, { from: "user" });
} catch (error) {
  process.exitCode = exitCodeFor(error);
}

/** `capstan: unknown option '--sproke' (did you mean --spokes?); see --help` */
function oneLine(text: string): string {
  const [problem = "", ...hints] = text.trim().split("\n");
  const hint = hints.join(" ").replace("(Did", "(did");
  return `capstan: ${problem.replace(/^error: /, "").replace(/\.$/, "")}${hint ? ` ${hint}` : ""}; see --help`;
}

/** Subcommands fail as the program does: by throwing, so that there is one place that ends the process. */
function inherit(command: Command): Command {
  command.exitOverride().copyInheritedSettings(program);
  for (const inner of command.commands) inherit(inner);
  return command;
}

function exitCodeFor(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.done : ExitCode.usage;
  if (error instanceof Error && error.name === "UsageError") {
    say(`capstan: ${error.message}; see --help`);
    return ExitCode.usage;
  }
  if (error instanceof Error && FOR_PEOPLE.has(error.name)) {
    say(`capstan: ${error.message}`);
    return ExitCode.failed;
  }
  say(`capstan: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  say("This is a fault of Capstan. Please report it with the lines above.");
  return ExitCode.failed;
}
