/** Macros: calls that stand for loops, bindings and tests, written out before anything else looks at them. */
import { ACCUMULATOR, type Call, type Comprehension, type Expr, type MapEntry } from "./ast.ts";
import { SyntaxIssue } from "./lexer.ts";
import type { CelValue } from "./values.ts";

/** Makes nodes with ids of their own. */
export interface ExprFactory {
  id(): number;
  literal(value: CelValue, offset: number): Expr;
  ident(name: string, offset: number): Expr;
  call(name: string, args: readonly Expr[], offset: number, target?: Expr): Call;
  list(items: readonly Expr[], offset: number): Expr;
  map(entries: readonly MapEntry[], offset: number): Expr;
}

/**
 * A macro of the host: what a call stands for, or undefined where it is not the macro. Throws SyntaxIssue where the
 * call is one, but a wrong one.
 */
export type Macro = (call: Call, make: ExprFactory) => Expr | undefined;

/** What a call to a macro stands for; undefined where the call is an ordinary one. */
export function expandMacro(call: Call, nameOffset: number, make: ExprFactory): Expr | undefined {
  const { name, target, args } = call;
  if (!target) return name === "has" && args.length === 1 ? presence(call, make) : undefined;
  if (target.kind === "ident" && target.name === "cel" && name === "bind" && args.length === 3) {
    const [variable, init, result] = args as [Expr, Expr, Expr];
    return binding(nameOf(variable), init, result, call.offset, make);
  }
  if (target.kind === "ident" && target.name === "math" && (name === "greatest" || name === "least")) {
    return extremum(call, make);
  }
  const expand = MACROS.get(`${name}/${args.length}`);
  return expand?.({ call, target, args, offset: nameOffset, make });
}

interface MacroCall {
  call: Call;
  target: Expr;
  args: readonly Expr[];
  offset: number;
  make: ExprFactory;
}

type Expansion = (call: MacroCall) => Expr;

function presence({ args, offset }: Call, make: ExprFactory): Expr {
  const [arg] = args;
  if (arg?.kind === "select" && !arg.isTest) return { ...arg, id: make.id(), isTest: true };
  throw new SyntaxIssue("invalid argument to has() macro", arg?.offset ?? offset);
}

function binding(variable: string, init: Expr, result: Expr, offset: number, make: ExprFactory): Comprehension {
  return {
    kind: "comprehension",
    id: make.id(),
    offset,
    range: make.list([], offset),
    variable: "#unused",
    variable2: undefined,
    accumulator: variable,
    init,
    condition: make.literal(false, offset),
    step: make.ident(variable, offset),
    result,
    isBinding: true,
  };
}

/** `math.greatest(a, b, c)` takes any number of arguments; the function behind it takes one, two, or a list. */
function extremum({ name, args, offset }: Call, make: ExprFactory): Expr {
  if (args.length === 0) throw new SyntaxIssue(`math.${name}() requires at least one argument`, offset);
  const inner = name === "greatest" ? "math.@max" : "math.@min";
  return make.call(inner, args.length > 2 ? [make.list(args, offset)] : args, offset);
}

interface LoopParts {
  init: Expr;
  condition: Expr;
  step: Expr;
  result?: Expr;
}

function loop({ target, args, offset, make }: MacroCall, variables: 1 | 2, parts: LoopParts): Comprehension {
  const [first, second] = args;
  const variable = nameOf(first);
  const variable2 = variables === 2 ? nameOf(second) : undefined;
  if (variable === variable2) throw new SyntaxIssue(`duplicate variable name: ${variable}`, second?.offset ?? offset);
  return {
    kind: "comprehension",
    id: make.id(),
    offset,
    range: target,
    variable,
    variable2,
    accumulator: ACCUMULATOR,
    result: make.ident(ACCUMULATOR, offset),
    isBinding: false,
    ...parts,
  };
}

/** The name that a macro's argument introduces. */
function nameOf(expr: Expr | undefined): string {
  if (expr?.kind !== "ident") throw new SyntaxIssue("argument must be a simple name", expr?.offset ?? 0);
  return expr.name;
}

const quantifier =
  (variables: 1 | 2, isAll: boolean): Expansion =>
  (macro) => {
    const { make, offset } = macro;
    const predicate = at(macro, variables);
    const accumulator = () => make.ident(ACCUMULATOR, offset);
    const goesOn = isAll ? accumulator() : make.call("!_", [accumulator()], offset);
    return loop(macro, variables, {
      init: make.literal(isAll, offset),
      condition: make.call("@not_strictly_false", [goesOn], offset),
      step: make.call(isAll ? "_&&_" : "_||_", [accumulator(), predicate], offset),
    });
  };

const existsOne =
  (variables: 1 | 2): Expansion =>
  (macro) => {
    const { make, offset } = macro;
    const accumulator = () => make.ident(ACCUMULATOR, offset);
    const counted = make.call("_+_", [accumulator(), make.literal(1n, offset)], offset);
    return loop(macro, variables, {
      init: make.literal(0n, offset),
      condition: make.literal(true, offset),
      step: make.call("_?_:_", [at(macro, variables), counted, accumulator()], offset),
      result: make.call("_==_", [accumulator(), make.literal(1n, offset)], offset),
    });
  };

/** Collects into a list: `value` for every item that passes `filter`. */
function collect(macro: MacroCall, variables: 1 | 2, value: Expr, filter: Expr | undefined): Expr {
  const { make, offset } = macro;
  const accumulator = () => make.ident(ACCUMULATOR, offset);
  const added = make.call("_+_", [accumulator(), make.list([value], offset)], offset);
  return loop(macro, variables, {
    init: make.list([], offset),
    condition: make.literal(true, offset),
    step: filter ? make.call("_?_:_", [filter, added, accumulator()], offset) : added,
  });
}

const transformList =
  (variables: 1 | 2, hasFilter: boolean): Expansion =>
  (macro) =>
    collect(macro, variables, at(macro, macro.args.length - 1), hasFilter ? at(macro, variables) : undefined);

const filter: Expansion = (macro) => {
  const variable = at(macro, 0);
  return collect(macro, 1, macro.make.ident(nameOf(variable), variable.offset), at(macro, 1));
};

/** Collects into a map, under the same keys or under those of the entry that is given. */
const transformMap =
  (hasFilter: boolean, isEntry: boolean): Expansion =>
  (macro) => {
    const { make, offset } = macro;
    const accumulator = () => make.ident(ACCUMULATOR, offset);
    const value = at(macro, macro.args.length - 1);
    const key = isEntry ? [] : [make.ident(nameOf(at(macro, 0)), offset)];
    const inserted = make.call("cel.@mapInsert", [accumulator(), ...key, value], offset);
    return loop(macro, 2, {
      init: make.map([], offset),
      condition: make.literal(true, offset),
      step: hasFilter ? make.call("_?_:_", [at(macro, 2), inserted, accumulator()], offset) : inserted,
    });
  };

const optionalMap =
  (isFlat: boolean): Expansion =>
  ({ target, args, offset, make }) => {
    const [variable, body] = args as [Expr, Expr];
    const value = make.call("value", [], offset, target);
    const bound = binding(nameOf(variable), value, body, offset, make);
    const result = isFlat ? bound : make.call("optional.of", [bound], offset);
    const hasValue = make.call("hasValue", [], offset, target);
    return make.call("_?_:_", [hasValue, result, make.call("optional.none", [], offset)], offset);
  };

const sortBy: Expansion = ({ target, args, offset, make }) => {
  const [variable, key] = args as [Expr, Expr];
  const input = "@sortBy_input";
  const list = () => make.ident(input, offset);
  const keys = collect(
    { call: make.call("", [], offset), target: list(), args: [variable, key], offset, make },
    1,
    key,
    undefined,
  );
  return binding(input, target, make.call("@sortByAssociatedKeys", [keys], offset, list()), offset, make);
};

const MACROS: ReadonlyMap<string, Expansion> = new Map([
  ["all/2", quantifier(1, true)],
  ["exists/2", quantifier(1, false)],
  ["exists_one/2", existsOne(1)],
  ["existsOne/2", existsOne(1)],
  ["map/2", transformList(1, false)],
  ["map/3", transformList(1, true)],
  ["filter/2", filter],
  ["all/3", quantifier(2, true)],
  ["exists/3", quantifier(2, false)],
  ["exists_one/3", existsOne(2)],
  ["existsOne/3", existsOne(2)],
  ["transformList/3", transformList(2, false)],
  ["transformList/4", transformList(2, true)],
  ["transformMap/3", transformMap(false, false)],
  ["transformMap/4", transformMap(true, false)],
  ["transformMapEntry/3", transformMap(false, true)],
  ["transformMapEntry/4", transformMap(true, true)],
  ["optMap/2", optionalMap(false)],
  ["optFlatMap/2", optionalMap(true)],
  ["sortBy/2", sortBy],
]);

function at({ args, call }: MacroCall, index: number): Expr {
  const arg = args[index];
  if (!arg) throw new SyntaxIssue("macro is missing an argument", call.offset);
  return arg;
}
