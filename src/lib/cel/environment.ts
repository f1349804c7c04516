/** Where expressions live: the variables and functions they may use. */

import { type Expr, partsOf } from "./ast.ts";
import { type Checked, check } from "./checker.ts";
import { CelError, compileError, type Issue } from "./errors.ts";
import { estimate } from "./estimate.ts";
import { type Frame, plan, type Step } from "./evaluator.ts";
import { type FunctionDeclaration, FunctionTable } from "./functions.ts";
import { OPAQUE_TYPES, STANDARD_LIBRARIES } from "./library/index.ts";
import type { Macro } from "./macros.ts";
import { toCel } from "./native.ts";
import { parse } from "./parser.ts";
import { patternOf } from "./patterns.ts";
import type { Range } from "./range.ts";
import { type Reference, referencesOf } from "./references.ts";
import { readDuration, readTimestamp } from "./time.ts";
import { type CelType, DYN, opaque, TYPE_NAMES } from "./types.ts";
import type { CelValue } from "./values.ts";

/** What a call may cost where no limit is given: enough for any honest expression, and over within a second. */
export const DEFAULT_COST_LIMIT = 10_000_000;

export interface EnvironmentOptions {
  readonly variables?: Readonly<Record<string, CelType>>;
  /** Functions of the host, beside the libraries. */
  readonly functions?: readonly FunctionDeclaration[];
  /** Macros of the host; they are asked before the standard ones. */
  readonly macros?: readonly Macro[];
  /** Names of types beside the known ones, for `type(x) == name`. */
  readonly types?: Readonly<Record<string, CelType>>;
  /** Variables that are not declared are dyn instead of an error. */
  readonly allowUndeclared?: boolean;
  /** As Kubernetes checks rules: literals of lists and maps have one type, and literal arguments must be valid. */
  readonly strict?: boolean;
}

export interface Environment {
  /** Compiles an expression. Throws CelError with every complaint and where it points to. */
  compile(source: string): Program;
}

export interface EvaluateOptions {
  readonly costLimit?: number;
}

/** A compiled expression. */
export interface Program {
  readonly source: string;
  readonly resultType: CelType;
  /** The variables it reads, with the fields it asks them for. */
  readonly references: readonly Reference[];
  /** The functions it calls, by their full names. */
  readonly functions: readonly string[];
  /** The least and the most it can cost. */
  readonly estimatedCost: Range;
  /** Its value. Variables are JSON, or values already. Throws CelError. */
  evaluate(bindings?: Readonly<Record<string, unknown>>, options?: EvaluateOptions): CelValue;
  /** Its value, and what finding it cost. Throws CelError, which tells what was spent until then. */
  run(bindings?: Readonly<Record<string, unknown>>, options?: EvaluateOptions): { value: CelValue; cost: number };
}

/** An environment in which expressions can be compiled. */
export function createEnvironment(options: EnvironmentOptions = {}): Environment {
  const variables = new Map(Object.entries(options.variables ?? {}));
  const functions = options.functions ? new FunctionTable(...STANDARD_LIBRARIES, options.functions) : STANDARD;
  const typeNames = options.types ? new Map([...KNOWN_TYPES, ...Object.entries(options.types)]) : KNOWN_TYPES;
  const { allowUndeclared = false, strict = false } = options;
  return {
    compile(source) {
      const expr = parse(source, options.macros);
      const checked = check(source, expr, {
        functions,
        variables,
        typeNames,
        allowUndeclared,
        homogeneousLiterals: strict,
      });
      if (strict) {
        const issues = literalIssues(expr);
        if (issues.length > 0) throw compileError("type", source, issues);
      }
      return new CompiledProgram(source, expr, checked, variables);
    },
  };
}

const STANDARD = new FunctionTable(...STANDARD_LIBRARIES);
const KNOWN_TYPES: ReadonlyMap<string, CelType> = new Map([
  ...TYPE_NAMES,
  ...OPAQUE_TYPES.map((name) => [name, opaque(name)] as const),
]);

class CompiledProgram implements Program {
  readonly source: string;
  readonly resultType: CelType;
  readonly #expr: Expr;
  readonly #checked: Checked;
  readonly #variables: ReadonlyMap<string, CelType>;
  readonly #step: Step;
  #estimate: Range | undefined;
  #references: readonly Reference[] | undefined;

  constructor(source: string, expr: Expr, checked: Checked, variables: ReadonlyMap<string, CelType>) {
    this.source = source;
    this.resultType = checked.resultType;
    this.#expr = expr;
    this.#checked = checked;
    this.#variables = variables;
    this.#step = plan(expr, checked);
  }

  get references(): readonly Reference[] {
    this.#references ??= referencesOf(this.#expr, this.#checked).filter(
      ({ name }) => this.#variables.has(name) || !KNOWN_TYPES.has(name),
    );
    return this.#references;
  }

  get functions(): readonly string[] {
    return [...new Set([...this.#checked.calls.values()].map(({ name }) => name))].filter((name) =>
      /^[A-Za-z][\w.]*$/.test(name),
    );
  }

  get estimatedCost(): Range {
    this.#estimate ??= estimate(this.#expr, this.#checked, this.#variables);
    return this.#estimate;
  }

  evaluate(bindings: Readonly<Record<string, unknown>> = {}, options: EvaluateOptions = {}): CelValue {
    return this.run(bindings, options).value;
  }

  run(
    bindings: Readonly<Record<string, unknown>> = {},
    { costLimit = DEFAULT_COST_LIMIT }: EvaluateOptions = {},
  ): { value: CelValue; cost: number } {
    const values = new Map<string, CelValue>();
    const frame: Frame = {
      lookup: (name) => {
        const known = values.get(name);
        if (known !== undefined || !Object.hasOwn(bindings, name)) return known;
        const value = toCel(bindings[name], this.#variables.get(name) ?? DYN);
        values.set(name, value);
        return value;
      },
      locals: [],
      limit: costLimit,
      cost: 0,
    };
    try {
      const value = this.#step(frame);
      return { value, cost: frame.cost };
    } catch (error) {
      if (error instanceof CelError) error.cost = frame.cost;
      throw error;
    }
  }
}

/** Literals that the functions they are given to will never accept. */
function literalIssues(expr: Expr): Issue[] {
  const issues = partsOf(expr).flatMap(literalIssues);
  if (expr.kind !== "call") return issues;
  const [only] = expr.args;
  if (only?.kind !== "literal" || typeof only.value !== "string" || expr.args.length !== 1) return issues;
  const isWrong = LITERAL_CHECKS.get(expr.name);
  if (isWrong && (expr.name === "matches") === (expr.target !== undefined) && isWrong(only.value)) {
    issues.push({ message: `invalid ${expr.name} argument`, offset: only.offset });
  }
  return issues;
}

const LITERAL_CHECKS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["duration", (text: string) => fails(() => readDuration(text))],
  ["timestamp", (text: string) => fails(() => readTimestamp(text))],
  ["matches", (text: string) => fails(() => patternOf(text))],
]);

function fails(read: () => unknown): boolean {
  try {
    return read() === undefined;
  } catch (error) {
    if (error instanceof CelError) return true;
    throw error;
  }
}
