/** The least and the most that an expression can cost, from what types say about sizes. */
import {
  ACCUMULATOR,
  type Call,
  type Comprehension,
  type Expr,
  type ListExpr,
  type MapExpr,
  type Select,
} from "./ast.ts";
import type { Checked } from "./checker.ts";
import { LIST_COST, MAP_COST } from "./cost.ts";
import { callEstimate, type EstimatedArgument } from "./estimate-calls.ts";
import { add, fixed, NOTHING, type Range, times, UNKNOWN, union } from "./range.ts";
import { codePointCount } from "./text.ts";
import { type CelType, DYN, isOptionalType } from "./types.ts";
import type { CelValue } from "./values.ts";

/** Estimates a checked expression; `variables` say where sizes are looked up. */
export function estimate(expr: Expr, checked: Checked, variables: ReadonlyMap<string, CelType>): Range {
  return new Estimator(checked, variables).cost(expr);
}

/** The sizes of what is inside a list or map. */
interface EntrySizes {
  readonly container: "list" | "map";
  readonly key: Range;
  readonly value: Range;
}

interface Local {
  readonly path: readonly string[];
  readonly size: Range | undefined;
  readonly entries: EntrySizes | undefined;
}

class Estimator {
  readonly #checked: Checked;
  readonly #variables: ReadonlyMap<string, CelType>;
  readonly #paths = new Map<number, readonly string[]>();
  readonly #sizes = new Map<number, Range>();
  readonly #entries = new Map<number, EntrySizes>();
  readonly #locals: (readonly [string, Local])[] = [];

  constructor(checked: Checked, variables: ReadonlyMap<string, CelType>) {
    this.#checked = checked;
    this.#variables = variables;
  }

  cost(expr: Expr): Range {
    switch (expr.kind) {
      case "ident":
        this.#paths.set(expr.id, this.#local(expr.name)?.path ?? [expr.name]);
        return fixed(1);
      case "select":
        return this.#select(expr);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "comprehension":
        return expr.isBinding ? this.#binding(expr) : this.#loop(expr);
      default:
        return NOTHING;
    }
  }

  #select(expr: Select): Range {
    const name = this.#checked.names.get(expr.id);
    if (name !== undefined) {
      this.#paths.set(expr.id, [name]);
      return fixed(1);
    }
    const operand = this.cost(expr.operand);
    if (expr.isTest) return operand; // asking whether a field is there is free
    this.#paths.set(expr.id, [...this.#path(expr.operand), expr.field]);
    const { kind } = this.#type(expr.operand);
    return kind === "map" || kind === "object" || kind === "parameter" ? add(operand, fixed(1)) : operand;
  }

  #call(expr: Call): Range {
    const { args } = expr;
    if (expr.name === "dyn" && args[0]) {
      const inner = this.cost(args[0]);
      this.#copy(expr, args[0]);
      return add(inner, fixed(1));
    }
    const costs = args.map((arg) => this.cost(arg));
    const call = this.#checked.calls.get(expr.id);
    const ids = call ? call.overloads.map(({ id }) => id) : [expr.name];
    const isMember = call ? call.isMember : false;
    const targetCost = isMember && expr.target ? this.cost(expr.target) : NOTHING;
    const described = args.map((arg) => this.#describe(arg));
    const target = isMember && expr.target ? this.#describe(expr.target) : undefined;

    let total: Range | undefined;
    let size: Range | undefined;
    for (const id of ids) {
      const one = this.#overload(expr, call?.name ?? expr.name, id, target, described, costs);
      total = total ? union(total, one.cost) : one.cost;
      if (one.size) size = size ? union(size, one.size) : one.size;
      if ((id === "index_list" || id === "index_map") && args[0]) {
        this.#paths.set(expr.id, [...this.#path(args[0]), id === "index_list" ? "@items" : "@values"]);
        size = this.#entriesOf(args[0])?.value;
      }
      size ??= this.#size(expr);
    }
    if (size) this.#sizes.set(expr.id, size);
    return add(targetCost, total ?? NOTHING);
  }

  #overload(
    expr: Call,
    name: string,
    id: string,
    target: EstimatedArgument | undefined,
    args: readonly EstimatedArgument[],
    costs: readonly Range[],
  ): { cost: Range; size?: Range | undefined } {
    const [first = NOTHING, second = NOTHING, third = NOTHING] = costs;
    switch (id) {
      case "logical_and":
      case "logical_or":
        return { cost: { min: first.min, max: add(first, second).max } };
      case "conditional": {
        const [yes, no] = [expr.args[1], expr.args[2]] as [Expr, Expr];
        this.#shareEntries(expr, yes, no);
        return {
          cost: add(first, union(second, third)),
          size: union(this.#size(yes) ?? UNKNOWN, this.#size(no) ?? UNKNOWN),
        };
      }
      case "add_string":
      case "add_bytes":
      case "add_list": {
        const [left, right] = expr.args as [Expr, Expr];
        this.#shareEntries(expr, left, right);
        break;
      }
      default:
    }
    const call = callEstimate(name, id, target, args);
    return { cost: costs.reduce(add, call.cost), size: call.size };
  }

  /** Both parts are known, or nothing is. */
  #shareEntries(expr: Expr, left: Expr, right: Expr): void {
    const [one, other] = [this.#entriesOf(left), this.#entriesOf(right)];
    if (!one || !other) return;
    this.#entries.set(expr.id, {
      container: one.container,
      key: union(one.key, other.key),
      value: union(one.value, other.value),
    });
  }

  #list(expr: ListExpr): Range {
    const costs = expr.items.map((item) => this.cost(item));
    const value = expr.items.map((item) => this.#size(item) ?? UNKNOWN).reduce<Range | undefined>(joined, undefined);
    this.#entries.set(expr.id, { container: "list", key: fixed(1), value: value ?? NOTHING });
    return costs.reduce(add, fixed(LIST_COST));
  }

  #map(expr: MapExpr): Range {
    const costs = expr.entries.flatMap(({ key, value }) => [this.cost(key), this.cost(value)]);
    const sizes = (part: "key" | "value") =>
      expr.entries.map((entry) => this.#size(entry[part]) ?? UNKNOWN).reduce<Range | undefined>(joined, undefined) ??
      NOTHING;
    this.#entries.set(expr.id, { container: "map", key: sizes("key"), value: sizes("value") });
    return costs.reduce(add, fixed(MAP_COST));
  }

  #binding(expr: Comprehension): Range {
    const before = add(this.cost(expr.range), this.cost(expr.init));
    this.#push(expr.accumulator, this.#asLocal(expr.init));
    const result = this.cost(expr.result);
    this.#locals.pop();
    this.#copy(expr, expr.result);
    return add(before, result);
  }

  #loop(expr: Comprehension): Range {
    const before = add(this.cost(expr.range), this.cost(expr.init));
    this.#push(expr.accumulator, this.#asLocal(expr.init));
    for (const [name, local] of this.#loopVariables(expr)) this.#push(name, local);
    const each = add(this.cost(expr.condition), this.cost(expr.step));
    this.#locals.splice(this.#locals.length - (expr.variable2 === undefined ? 1 : 2));
    const result = this.cost(expr.result);
    this.#locals.pop();

    const count = this.#size(expr.range) ?? UNKNOWN;
    if (expr.init.kind === "literal") {
      const size = this.#size(expr.init);
      if (size) this.#sizes.set(expr.id, size);
    } else if (expr.init.kind === "list" || expr.init.kind === "map") {
      this.#sizes.set(expr.id, count);
      const entries = this.#entriesOf(expr.step);
      if (entries) this.#entries.set(expr.id, entries);
    }
    return add(add(before, result), times(count, each));
  }

  #loopVariables({ variable, variable2, range }: Comprehension): [string, Local][] {
    const entries = this.#entriesOf(range);
    const isList = (entries?.container ?? this.#type(range).kind) === "list";
    const path = this.#path(range);
    const at = (step: string, size: Range | undefined): Local => ({ path: [...path, step], size, entries: undefined });
    if (variable2 === undefined) {
      return [[variable, isList ? at("@items", entries?.value) : at("@keys", entries?.key)]];
    }
    return [
      [variable, at(isList ? "@indices" : "@keys", entries?.key)],
      [variable2, at(isList ? "@items" : "@values", entries?.value)],
    ];
  }

  #asLocal(expr: Expr): Local {
    return { path: this.#path(expr), size: this.#size(expr), entries: this.#entriesOf(expr) };
  }

  #push(name: string, local: Local): void {
    this.#locals.push([name, local]);
  }

  #local(name: string): Local | undefined {
    return this.#locals.findLast(([known]) => known === name)?.[1];
  }

  #path(expr: Expr): readonly string[] {
    return (expr.kind === "ident" ? this.#local(expr.name)?.path : undefined) ?? this.#paths.get(expr.id) ?? [];
  }

  #type(expr: Expr): CelType {
    return this.#checked.types.get(expr.id) ?? DYN;
  }

  #describe(expr: Expr): EstimatedArgument {
    const own = this.#path(expr);
    const path = own[0] === ACCUMULATOR ? [] : own;
    const type = this.#type(expr);
    return {
      expr,
      type,
      size: this.#size(expr),
      // Without a path nothing is known about items but their type.
      itemSize: type.kind === "list" && path.length > 0 ? this.#declared([...path, "@items"]) : undefined,
    };
  }

  #copy(to: Expr, from: Expr): void {
    const size = this.#size(from);
    if (size) this.#sizes.set(to.id, size);
    const entries = this.#entriesOf(from);
    if (entries) this.#entries.set(to.id, entries);
  }

  #size(expr: Expr): Range | undefined {
    return (
      this.#sizes.get(expr.id) ??
      writtenSize(expr) ??
      this.#declared(this.#path(expr)) ??
      scalarSize(this.#type(expr)) ??
      (expr.kind === "ident" ? this.#local(expr.name)?.size : undefined)
    );
  }

  #entriesOf(expr: Expr): EntrySizes | undefined {
    return this.#entries.get(expr.id) ?? (expr.kind === "ident" ? this.#local(expr.name)?.entries : undefined);
  }

  /**
   * What the type of a variable says about the size of what lies at a path in it. As in Kubernetes, a path that
   * starts elsewhere (a type's name, the items of a computed list) is looked up from the first variable, where it
   * mostly finds an object, which has no size: budgets are made for estimates that are this generous.
   */
  #declared([root, ...steps]: readonly string[]): Range | undefined {
    if (root === undefined) return undefined;
    let type = this.#variables.get(root) ?? this.#variables.values().next().value;
    if (type && isOptionalType(type)) type = type.parameters[0];
    for (const step of steps) {
      if (type?.kind === "list") type = step === "@items" ? type.element : undefined;
      else if (type?.kind === "map") type = step === "@values" ? type.value : step === "@keys" ? type.key : undefined;
      else type = type?.kind === "object" ? type.fields.get(step)?.type : undefined;
    }
    return type?.sizes && { min: 0, max: type.sizes.largest };
  }
}

function joined(before: Range | undefined, size: Range): Range {
  return before ? union(before, size) : size;
}

/** The size of what is written down in the expression. */
function writtenSize(expr: Expr): Range | undefined {
  switch (expr.kind) {
    case "literal":
      return fixed(literalSize(expr.value));
    case "list":
      return fixed(expr.items.length);
    case "map":
      return fixed(expr.entries.length);
    default:
      return undefined;
  }
}

function literalSize(value: CelValue): number {
  if (typeof value === "string") return codePointCount(value);
  return value instanceof Uint8Array ? value.length : 1;
}

const SCALARS: ReadonlySet<string> = new Set(["bool", "int", "uint", "double", "timestamp", "duration"]);

function scalarSize(type: CelType): Range | undefined {
  if (isOptionalType(type)) return type.parameters[0] && scalarSize(type.parameters[0]);
  return SCALARS.has(type.kind) ? fixed(1) : undefined;
}
