/**
 * How a command would end, judged by its words alone: `exit 3` and `false` fail, `sleep` takes its time, what waits
 * for ever runs on, and everything else is taken to succeed at once.
 */
import { runScript } from "./script.ts";
import { afterSettings } from "./shell-words.ts";

export interface Ending {
  /** Infinity for what runs on. */
  readonly afterMs: number;
  readonly exitCode: number;
}

export const AT_ONCE: Ending = { afterMs: 0, exitCode: 0 };
export const NEVER: Ending = { afterMs: Number.POSITIVE_INFINITY, exitCode: 0 };

const SHELLS: ReadonlySet<string> = new Set(["sh", "ash", "bash", "dash", "ksh", "zsh"]);

/** Words before a command that change nothing about its end. */
const PREFIXES: ReadonlySet<string> = new Set(["exec", "command", "env", "nohup", "time"]);

export function endingOf(argv: readonly string[]): Ending {
  const [program = "", ...args] = argv;
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (SHELLS.has(name)) return endingOfShell(args);
  if (PREFIXES.has(name)) return endingOf(afterSettings(args));
  switch (name) {
    case "false":
      return { afterMs: 0, exitCode: 1 };
    case "exit":
      return { afterMs: 0, exitCode: exitCodeOf(args[0]) };
    case "sleep":
      return { afterMs: args.reduce((total, word) => total + sleepMs(word), 0), exitCode: 0 };
    case "pause":
      return NEVER;
    case "tail":
      return args.some((word) => /^(-[a-z]*f|-F|--follow)/.test(word)) ? NEVER : AT_ONCE;
    default:
      return AT_ONCE;
  }
}

/** `sh -c SCRIPT`, with the option alone or among others: `bash -euxc`. */
function endingOfShell(args: readonly string[]): Ending {
  const option = args.findIndex((word) => /^-[a-z]*c[a-z]*$/.test(word));
  const script = option < 0 ? undefined : args.slice(option + 1).find((word) => !/^[-+]/.test(word));
  if (script === undefined) return AT_ONCE;
  const isStrict = args.slice(0, option + 1).some((word) => /^-[a-z]*e/.test(word));
  return runScript(script, endingOf, { isStrict });
}

function exitCodeOf(word = "0"): number {
  return /^\d+$/.test(word) ? Number(word) % 256 : 2; // as shells answer to `exit x`
}

const SLEEP_UNITS: Readonly<Record<string, number>> = { "": 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `5`, `0.5`, `2m`, `infinity`; a word that the shell would have had to fill in counts as nothing. */
function sleepMs(word: string): number {
  if (/^inf/i.test(word)) return Number.POSITIVE_INFINITY;
  const [, amount, unit = ""] = /^(\d+(?:\.\d*)?|\.\d+)([smhd]?)$/.exec(word) ?? [];
  return amount === undefined ? 0 : Number(amount) * (SLEEP_UNITS[unit] ?? 0);
}
