/** A pattern as instructions for a machine that runs all alternatives side by side. */
import { type Assertion, type CharTest, RegexError, type Syntax } from "./syntax.ts";

export type Instruction =
  | { readonly op: "char"; readonly code: number }
  | { readonly op: "set"; readonly test: CharTest }
  | { readonly op: "assert"; readonly assertion: Assertion }
  /** Goes on at `first`, and if that fails at `second`. */
  | { op: "split"; first: number; second: number }
  | { op: "jump"; to: number }
  | { readonly op: "match" };

/** Time is the product of text and program; a pattern that needs more is refused. */
const LARGEST = 50_000;

export function assemble(tree: Syntax): readonly Instruction[] {
  const program: Instruction[] = [];

  const emit = (instruction: Instruction): number => {
    if (program.length >= LARGEST) throw new RegexError("expression too large", "");
    return program.push(instruction) - 1;
  };

  const write = (node: Syntax): void => {
    switch (node.kind) {
      case "empty":
        return;
      case "char":
        emit({ op: "char", code: node.code });
        return;
      case "set":
        emit({ op: "set", test: node.test });
        return;
      case "assert":
        emit({ op: "assert", assertion: node.assertion });
        return;
      case "sequence":
        node.parts.forEach(write);
        return;
      case "choice":
        choice(node.options);
        return;
      case "repeat":
        repeat(node.body, node.min, node.max, node.greedy);
    }
  };

  const choice = (options: readonly Syntax[]): void => {
    const jumps: { to: number }[] = [];
    options.forEach((option, index) => {
      if (index === options.length - 1) {
        write(option);
        return;
      }
      const split = { op: "split" as const, first: program.length + 1, second: 0 };
      emit(split);
      write(option);
      const jump = { op: "jump" as const, to: 0 };
      emit(jump);
      jumps.push(jump);
      split.second = program.length;
    });
    for (const jump of jumps) jump.to = program.length;
  };

  const repeat = (body: Syntax, min: number, max: number, greedy: boolean): void => {
    for (let count = 0; count < min; count++) write(body);
    if (max === Number.POSITIVE_INFINITY) {
      const split = { op: "split" as const, first: 0, second: 0 };
      const at = emit(split);
      write(body);
      emit({ op: "jump", to: at });
      aim(split, at + 1, program.length, greedy);
      return;
    }
    const splits: { split: { first: number; second: number }; at: number }[] = [];
    for (let count = min; count < max; count++) {
      const split = { op: "split" as const, first: 0, second: 0 };
      splits.push({ split, at: emit(split) });
      write(body);
    }
    for (const { split, at } of splits) aim(split, at + 1, program.length, greedy);
  };

  write(tree);
  emit({ op: "match" });
  return program;
}

function aim(split: { first: number; second: number }, body: number, after: number, greedy: boolean): void {
  split.first = greedy ? body : after;
  split.second = greedy ? after : body;
}
