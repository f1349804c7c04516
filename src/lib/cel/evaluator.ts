/** Turns a checked expression into functions that compute it. */
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
import { callCost, LIST_COST, MAP_COST } from "./cost.ts";
import { CelError, failure, noSuchKey } from "./errors.ts";
import { type Overload, selectOverload } from "./functions.ts";
import { type CelValue, isList, MapValue, NativeMap, Optional, TypeValue, typeNameOf } from "./values.ts";

/** One run of a program. */
export interface Frame {
  /** The value of a variable; undefined where it has none. */
  readonly lookup: (name: string) => CelValue | undefined;
  readonly locals: (CelValue | Deferred | CelError)[];
  readonly limit: number;
  cost: number;
}

export type Step = (frame: Frame) => CelValue;

/** The value of a binding is found when it is first asked for, if ever. */
class Deferred {
  readonly compute: () => CelValue;

  constructor(compute: () => CelValue) {
    this.compute = compute;
  }
}

/** The names in scope and where their values are kept. */
interface Scope {
  readonly name: string;
  readonly slot: number;
  readonly outer: Scope | undefined;
}

/** What computes an expression. */
export function plan(expr: Expr, checked: Checked): Step {
  return new Planner(checked).plan(expr, undefined);
}

export function spend(frame: Frame, cost: number): void {
  frame.cost += cost;
  if (frame.cost > frame.limit) {
    throw new CelError("cost", "operation cancelled: actual cost limit exceeded");
  }
}

class Planner {
  readonly #checked: Checked;

  constructor(checked: Checked) {
    this.#checked = checked;
  }

  plan(expr: Expr, scope: Scope | undefined): Step {
    switch (expr.kind) {
      case "literal": {
        const { value } = expr;
        return () => value;
      }
      case "ident":
        return this.#ident(expr.name, scope);
      case "select":
        return this.#select(expr, scope);
      case "call":
        return this.#call(expr, scope);
      case "list":
        return this.#list(expr, scope);
      case "map":
        return this.#map(expr, scope);
      case "comprehension":
        return expr.isBinding ? this.#binding(expr, scope) : this.#loop(expr, scope);
      case "struct":
        throw new Error("messages are refused by the checker");
    }
  }

  #ident(name: string, scope: Scope | undefined): Step {
    const slot = slotOf(name, scope);
    if (slot === undefined) return this.#global(name);
    return (frame) => {
      spend(frame, 1);
      const value = frame.locals[slot];
      if (value instanceof CelError) throw value;
      if (value instanceof Deferred) {
        const computed = value.compute();
        frame.locals[slot] = computed;
        return computed;
      }
      return value ?? null;
    };
  }

  #global(name: string): Step {
    const typeValue = TYPE_VALUES.get(name) ?? new TypeValue(name);
    return (frame) => {
      spend(frame, 1);
      const value = frame.lookup(name);
      if (value !== undefined) return value;
      if (TYPE_VALUES.has(name) || name.includes(".")) return typeValue;
      throw failure(`no such attribute(s): ${name}`);
    };
  }

  #select(expr: Select, scope: Scope | undefined): Step {
    const name = this.#checked.names.get(expr.id);
    if (name !== undefined) return this.#global(name);
    const operand = this.plan(expr.operand, scope);
    const { field } = expr;
    if (expr.isTest) return (frame) => isPresent(operand(frame), field);
    return (frame) => {
      const value = operand(frame);
      spend(frame, 1);
      return fieldOf(value, field);
    };
  }

  #call(expr: Call, scope: Scope | undefined): Step {
    const { args } = expr;
    switch (expr.name) {
      case "_&&_":
        return this.#logical(args, scope, false);
      case "_||_":
        return this.#logical(args, scope, true);
      case "_?_:_":
        return this.#ternary(args, scope);
      case "@not_strictly_false":
        return this.#notStrictlyFalse(args, scope);
      case "_?._":
        return this.#optionalSelect(args, scope);
      case "_+_":
        if (isAccumulation(expr)) return this.#append(expr, scope);
        break;
      case "cel.@mapInsert":
        return this.#insert(expr, scope);
      default:
    }
    const call = this.#checked.calls.get(expr.id);
    if (!call) throw new Error(`call of ${expr.name} was not checked`);
    const steps = (call.isMember && expr.target ? [expr.target, ...args] : args).map((arg) => this.plan(arg, scope));
    return invocation(call.name, call.overloads, steps);
  }

  /** && and ||: one side may fail if the other decides. */
  #logical(args: readonly Expr[], scope: Scope | undefined, decisive: boolean): Step {
    const [left, right] = this.#two(args, scope);
    const name = decisive ? "_||_" : "_&&_";
    return (frame) => {
      let failed: CelError | undefined;
      try {
        const value = left(frame);
        if (value === decisive) return decisive;
        if (typeof value !== "boolean") failed = noSuchOverload(name, [value]);
      } catch (error) {
        failed = absorbed(error);
      }
      const other = failed ? unlessFailing(right, frame, failed) : right(frame);
      if (other === decisive) return decisive;
      if (failed) throw failed;
      if (typeof other !== "boolean") throw noSuchOverload(name, [other]);
      return other;
    };
  }

  #ternary(args: readonly Expr[], scope: Scope | undefined): Step {
    const [condition, yes, no] = args.map((arg) => this.plan(arg, scope)) as [Step, Step, Step];
    return (frame) => {
      const value = condition(frame);
      if (value === true) return yes(frame);
      if (value === false) return no(frame);
      throw noSuchOverload("_?_:_", [value]);
    };
  }

  #notStrictlyFalse(args: readonly Expr[], scope: Scope | undefined): Step {
    const [arg] = args.map((inner) => this.plan(inner, scope)) as [Step];
    return (frame) => {
      spend(frame, 1);
      try {
        return arg(frame) !== false;
      } catch (error) {
        absorbed(error);
        return true;
      }
    };
  }

  #optionalSelect(args: readonly Expr[], scope: Scope | undefined): Step {
    const [operand, field] = args;
    if (!operand || field?.kind !== "literal") throw new Error("an optional selection names its field");
    const step = this.plan(operand, scope);
    const name = String(field.value);
    return (frame) => {
      const value = step(frame);
      spend(frame, 1);
      return optionalField(value, name);
    };
  }

  /** A macro's `@result + [item]`: no one else sees the list yet, so it grows in place. */
  #append(expr: Call, scope: Scope | undefined): Step {
    const [accumulator, list] = this.#two(expr.args, scope);
    return (frame) => {
      const target = accumulator(frame);
      const items = list(frame);
      spend(frame, 1);
      if (!isList(target) || !isList(items)) throw noSuchOverload("_+_", [target, items]);
      (target as CelValue[]).push(...items);
      return target;
    };
  }

  #insert(expr: Call, scope: Scope | undefined): Step {
    const [accumulator, ...rest] = expr.args.map((arg) => this.plan(arg, scope)) as [Step, ...Step[]];
    return (frame) => {
      const target = accumulator(frame);
      const [first, second] = rest.map((step) => step(frame));
      spend(frame, 1);
      if (!(target instanceof NativeMap) || first === undefined) throw failure("no such overload");
      if (second !== undefined) insert(target, first, second);
      else if (first instanceof MapValue) for (const key of first.keys()) insert(target, key, first.get(key) ?? null);
      else throw noSuchOverload("cel.@mapInsert", [target, first]);
      return target;
    };
  }

  #list({ items, optional }: ListExpr, scope: Scope | undefined): Step {
    const steps = items.map((item) => this.plan(item, scope));
    return (frame) => {
      const list: CelValue[] = [];
      steps.forEach((step, index) => {
        const value = step(frame);
        if (!optional.has(index)) list.push(value);
        else if (!(value instanceof Optional)) throw notOptional(value);
        else if (value.value !== undefined) list.push(value.value);
      });
      spend(frame, LIST_COST);
      return list;
    };
  }

  #map({ entries }: MapExpr, scope: Scope | undefined): Step {
    const steps = entries.map(({ key, value, isOptional }) => ({
      key: this.plan(key, scope),
      value: this.plan(value, scope),
      isOptional,
    }));
    return (frame) => {
      const map = new NativeMap();
      for (const step of steps) {
        const key = step.key(frame);
        const value = step.value(frame);
        if (!step.isOptional) insert(map, key, value);
        else if (!(value instanceof Optional)) throw notOptional(value);
        else if (value.value !== undefined) insert(map, key, value.value);
      }
      spend(frame, MAP_COST);
      return map;
    };
  }

  #binding(expr: Comprehension, outer: Scope | undefined): Step {
    const slot = nextSlot(outer);
    const init = this.plan(expr.init, outer);
    const result = this.plan(expr.result, { name: expr.accumulator, slot, outer });
    return (frame) => {
      spend(frame, LIST_COST);
      frame.locals[slot] = new Deferred(() => init(frame));
      return result(frame);
    };
  }

  #loop(expr: Comprehension, outer: Scope | undefined): Step {
    const slot = nextSlot(outer);
    const inner: Scope = { name: expr.accumulator, slot, outer };
    const first: Scope = { name: expr.variable, slot: slot + 1, outer: inner };
    const scope: Scope = expr.variable2 === undefined ? first : { name: expr.variable2, slot: slot + 2, outer: first };
    const range = this.plan(expr.range, outer);
    const init = this.plan(expr.init, outer);
    const condition = this.plan(expr.condition, scope);
    const step = this.plan(expr.step, scope);
    const result = this.plan(expr.result, inner);
    const hasPairs = expr.variable2 !== undefined;
    // A quantifier may still be decided by a later item; other loops fail where they fail.
    const forgives = expr.condition.kind === "call";

    return (frame) => {
      const over = range(frame);
      const { locals } = frame;
      let accumulator: CelValue | CelError = init(frame);
      for (const [key, value] of iterate(over, hasPairs)) {
        locals[slot] = accumulator;
        locals[slot + 1] = key;
        if (hasPairs) locals[slot + 2] = value;
        if (condition(frame) !== true) break;
        if (forgives) {
          try {
            accumulator = step(frame);
          } catch (error) {
            accumulator = absorbed(error);
          }
        } else accumulator = step(frame);
      }
      locals[slot] = accumulator;
      return result(frame);
    };
  }

  #two(args: readonly Expr[], scope: Scope | undefined): [Step, Step] {
    return args.map((arg) => this.plan(arg, scope)) as [Step, Step];
  }
}

function slotOf(name: string, scope: Scope | undefined): number | undefined {
  for (let at = scope; at; at = at.outer) if (at.name === name) return at.slot;
  return undefined;
}

/** Slots below are taken by what is in scope; what is not can share one. */
function nextSlot(scope: Scope | undefined): number {
  let next = 0;
  for (let at = scope; at; at = at.outer) next = Math.max(next, at.slot + 1);
  return next;
}

function isAccumulation({ args }: Call): boolean {
  const [left, right] = args;
  return left?.kind === "ident" && left.name === ACCUMULATOR && right?.kind === "list";
}

function invocation(name: string, overloads: readonly Overload[], steps: readonly Step[]): Step {
  return (frame) => {
    const args: CelValue[] = [];
    for (const step of steps) args.push(step(frame));
    const chosen = selectOverload(overloads, args);
    if (!chosen) throw noSuchOverload(name, args);
    const result = chosen.call(...args);
    spend(frame, callCost(name, chosen.id, args, result));
    return result;
  };
}

/** Lists give their items, or index and item; maps their keys, or key and value. */
function* iterate(over: CelValue, hasPairs: boolean): Iterable<[CelValue, CelValue]> {
  if (isList(over)) {
    for (let index = 0; index < over.length; index++) {
      const item = over[index] ?? null;
      yield hasPairs ? [BigInt(index), item] : [item, null];
    }
  } else if (over instanceof MapValue) {
    for (const key of over.keys()) yield [key, hasPairs ? (over.get(key) ?? null) : null];
  } else throw failure(`got '${typeNameOf(over)}', expected iterable type`);
}

function insert(map: NativeMap, key: CelValue, value: CelValue): void {
  if (map.has(key)) throw failure(`insert failed: key ${String(key)} already exists`);
  const before = map.size;
  map.set(key, value);
  if (map.size === before) throw failure(`unsupported key type: ${typeNameOf(key)}`);
}

/** A field of a map, an object, or what is inside an optional. */
export function fieldOf(value: CelValue, field: string): CelValue {
  if (value instanceof MapValue) {
    const found = value.get(field);
    if (found === undefined) throw noSuchKey(field);
    return found;
  }
  if (value instanceof Optional) return optionalField(value, field);
  throw failure(`no such overload: ${typeNameOf(value)} has no field '${field}'`);
}

function optionalField(value: CelValue, field: string): Optional {
  if (value instanceof Optional) return value.value === undefined ? Optional.none : optionalField(value.value, field);
  if (!(value instanceof MapValue)) throw failure(`no such overload: ${typeNameOf(value)} has no field '${field}'`);
  const found = value.get(field);
  return found === undefined ? Optional.none : Optional.of(found);
}

function isPresent(value: CelValue, field: string): boolean {
  if (value instanceof MapValue) return value.get(field) !== undefined;
  if (value instanceof Optional) return value.value !== undefined && isPresent(value.value, field);
  throw failure(`no such overload: ${typeNameOf(value)} has no field '${field}'`);
}

/** The value of a step that may decide; where both sides fail, the first failure counts. */
function unlessFailing(step: Step, frame: Frame, failed: CelError): CelValue {
  try {
    return step(frame);
  } catch (error) {
    absorbed(error);
    throw failed;
  }
}

/** Errors of evaluation can be outvoted; a spent budget or a fault of ours cannot. */
function absorbed(error: unknown): CelError {
  if (error instanceof CelError && error.kind === "evaluation") return error;
  throw error;
}

function noSuchOverload(name: string, args: readonly CelValue[]): CelError {
  return failure(`no such overload: ${name}(${args.map(typeNameOf).join(", ")})`);
}

function notOptional(value: CelValue): CelError {
  return failure(`cannot initialize optional entry from non-optional value of type ${typeNameOf(value)}`);
}

const TYPE_VALUES: ReadonlyMap<string, TypeValue> = new Map(
  [
    "bool",
    "bytes",
    "double",
    "dyn",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
    "optional_type",
  ].map((name) => [name, new TypeValue(name)]),
);
