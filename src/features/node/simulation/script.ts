/**
 * How a shell script would end. Its commands are looked at one after the other; a condition that nobody can know is
 * taken to hold, a loop that says `while true` runs on, and every other loop is left at once or gone through once.
 */
import type { Ending } from "./command.ts";
import { afterSettings, shellWords } from "./shell-words.ts";

export interface ScriptOptions {
  /** Whether the first command that fails ends the script (`set -e`). */
  readonly isStrict: boolean;
}

export function runScript(
  text: string,
  endingOf: (words: readonly string[]) => Ending,
  { isStrict }: ScriptOptions,
): Ending {
  const script = new Script(endingOf, isStrict);
  let words: string[] = [];
  let joint = ";";
  for (const token of [...shellWords(text), { operator: ";" }]) {
    if ("word" in token) {
      words.push(token.word);
      continue;
    }
    script.run(words, joint, token.operator);
    if (script.isOver) break;
    if (words.length > 0) joint = token.operator;
    words = [];
  }
  return { afterMs: script.ms, exitCode: script.code };
}

/** Conditions of loops without end. */
const ALWAYS: ReadonlySet<string> = new Set(["true", ":", "[ 1 ]", "[ true ]", "[[ 1 ]]"]);
const NEVER: ReadonlySet<string> = new Set(["false", "! true"]);

/** An `if` or a loop that is open, and whether the part of it that we are in is gone through. */
interface Frame {
  isLive: boolean;
  /** Whether a branch was gone through already. */
  isTaken: boolean;
}

class Script {
  ms = 0;
  code = 0;
  isOver = false;
  readonly #endingOf: (words: readonly string[]) => Ending;
  readonly #frames: Frame[] = [];
  #isStrict: boolean;
  /** The longest of those that run in the background. */
  #backgroundMs = 0;

  constructor(endingOf: (words: readonly string[]) => Ending, isStrict: boolean) {
    this.#endingOf = endingOf;
    this.#isStrict = isStrict;
  }

  /** One command, with the operators before and after it. */
  run(given: readonly string[], before: string, after: string): void {
    const words = [...given];
    const isCondition = this.#enter(words);
    if (words.length === 0 || this.isOver || !this.#isLive) return;
    if ((before === "&&" && this.code !== 0) || (before === "||" && this.code === 0)) return;
    this.#execute(words, after === "&");
    const isChecked = isCondition || after === "&&" || after === "||" || after === "|";
    if (this.#isStrict && this.code !== 0 && !isChecked) this.isOver = true;
  }

  get #isLive(): boolean {
    return this.#frames.every(({ isLive }) => isLive);
  }

  /** Takes the words of the grammar off the front; true when what follows is a condition. */
  #enter(words: string[]): boolean {
    let isCondition = false;
    for (; words.length > 0 && !this.isOver; words.shift()) {
      const frame = this.#frames.at(-1);
      switch (words[0]) {
        case "if":
          this.#frames.push({ isLive: true, isTaken: false });
          isCondition = true;
          break;
        case "elif":
          if (frame) frame.isLive = !frame.isTaken;
          isCondition = true;
          break;
        case "then":
          if (frame) {
            frame.isLive &&= this.code === 0;
            frame.isTaken ||= frame.isLive;
          }
          isCondition = false;
          break;
        case "else":
          if (frame) frame.isLive = !frame.isTaken;
          break;
        case "while":
        case "until":
          this.#loop(words);
          return false;
        case "for":
        case "case":
          this.#frames.push({ isLive: true, isTaken: false });
          words.length = 0;
          return false;
        case "fi":
        case "done":
        case "esac":
          this.#frames.pop();
          break;
        case "do":
        case "{":
        case "}":
        case "(":
        case ")":
          break;
        default:
          return isCondition;
      }
    }
    return isCondition;
  }

  /** A loop whose end nobody can know is left at once. */
  #loop(words: string[]): void {
    const [keyword, ...condition] = words;
    const isEndless = (keyword === "while" ? ALWAYS : NEVER).has(condition.join(" "));
    if (isEndless && this.#isLive) {
      this.ms = Number.POSITIVE_INFINITY;
      this.isOver = true;
    }
    this.#frames.push({ isLive: false, isTaken: false });
    words.length = 0;
  }

  #execute(words: string[], inBackground: boolean): void {
    const isNegated = words[0] === "!";
    const [name = "", ...args] = afterSettings(isNegated ? words.slice(1) : words);
    if (name === "set") this.#isStrict ||= args.some((word) => /^-[a-z]*e/.test(word));
    if (name === "wait") this.ms += this.#backgroundMs;
    if (name === "exit" && args.length === 0) args.push(String(this.code));
    const { afterMs, exitCode } = this.#endingOf([name, ...args]);
    if (inBackground) {
      this.#backgroundMs = Math.max(this.#backgroundMs, afterMs);
      this.code = 0;
      return;
    }
    this.ms += afterMs;
    this.code = isNegated ? Number(exitCode === 0) : exitCode;
    this.isOver = name === "exit" || name === "exec" || this.ms === Number.POSITIVE_INFINITY;
  }
}
