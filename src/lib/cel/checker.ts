/** Finds the type of every part of an expression, and which functions its calls mean. */
import type { Call, Comprehension, Expr, ListExpr, MapExpr, Select } from "./ast.ts";
import { qualifiedName } from "./ast.ts";
import { compileError, type Issue } from "./errors.ts";
import type { FunctionTable, Overload } from "./functions.ts";
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  ERROR,
  formatType,
  INT,
  isOptionalType,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  parametersOf,
  STRING,
  TIMESTAMP,
  typeOfType,
  UINT,
  withParameters,
} from "./types.ts";
import { joined, Substitution } from "./unify.ts";
import { type CelValue, Duration, Timestamp, Uint } from "./values.ts";

export interface CheckOptions {
  readonly functions: FunctionTable;
  readonly variables: ReadonlyMap<string, CelType>;
  /** Names that stand for types. */
  readonly typeNames: ReadonlyMap<string, CelType>;
  /** Unknown variables are dyn instead of an error. */
  readonly allowUndeclared: boolean;
  /** Items of a list literal, and keys and values of a map literal, must have one type. */
  readonly homogeneousLiterals: boolean;
}

export interface CheckedCall {
  /** The function's full name: `math.ceil` is one name, although it reads like a member. */
  readonly name: string;
  /** The target belongs to the arguments. */
  readonly isMember: boolean;
  readonly overloads: readonly Overload[];
}

/** What the checker found out, by the ids of nodes. */
export interface Checked {
  readonly types: ReadonlyMap<number, CelType>;
  readonly calls: ReadonlyMap<number, CheckedCall>;
  /** Selections that are really the dotted name of a variable or type. */
  readonly names: ReadonlyMap<number, string>;
  readonly resultType: CelType;
}

/** Checks an expression. Throws CelError of kind type with every complaint. */
export function check(source: string, expr: Expr, options: CheckOptions): Checked {
  const checker = new Checker(options);
  const resultType = checker.check(expr);
  if (checker.issues.length > 0) {
    const issues = checker.issues.toSorted((a, b) => a.offset - b.offset).slice(0, MOST_ISSUES);
    throw compileError("type", source, issues);
  }
  return checker.finish(resultType);
}

/** More complaints would not help anyone. */
const MOST_ISSUES = 100;

class Checker {
  readonly issues: Issue[] = [];
  readonly #options: CheckOptions;
  readonly #types = new Map<number, CelType>();
  readonly #calls = new Map<number, CheckedCall>();
  readonly #names = new Map<number, string>();
  readonly #locals: Map<string, CelType>[] = [];
  readonly #substitution = new Substitution();
  #fresh = 0;
  /** How many calls of `format` we are in: what they format may be of many types. */
  #mixed = 0;

  constructor(options: CheckOptions) {
    this.#options = options;
  }

  finish(resultType: CelType): Checked {
    const types = new Map([...this.#types].map(([id, type]) => [id, this.#substitution.resolve(type, "dyn")]));
    return {
      types,
      calls: this.#calls,
      names: this.#names,
      resultType: this.#substitution.resolve(resultType, "dyn"),
    };
  }

  check(expr: Expr): CelType {
    const type = this.#typeOf(expr);
    this.#types.set(expr.id, type);
    return type;
  }

  #typeOf(expr: Expr): CelType {
    switch (expr.kind) {
      case "literal":
        return literalType(expr.value);
      case "ident":
        return this.#variable(expr.name) ?? this.#undeclared(expr, expr.name);
      case "select":
        return this.#select(expr);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "struct":
        return this.#complain(expr, `undeclared reference to '${expr.name}' (in container '')`);
      case "comprehension":
        return this.#comprehension(expr);
    }
  }

  #local(name: string): CelType | undefined {
    for (let index = this.#locals.length - 1; index >= 0; index--) {
      const type = this.#locals[index]?.get(name);
      if (type) return type;
    }
    return undefined;
  }

  #variable(name: string): CelType | undefined {
    const local = this.#local(name);
    if (local) return local;
    const declared = this.#options.variables.get(name);
    if (declared) return declared;
    const named = this.#options.typeNames.get(name);
    return named && typeOfType(named);
  }

  #undeclared(expr: Expr, name: string): CelType {
    if (this.#options.allowUndeclared) return DYN;
    return this.#complain(expr, `undeclared reference to '${name}' (in container '')`);
  }

  #select(expr: Select): CelType {
    const name = expr.isTest ? undefined : qualifiedName(expr);
    if (name !== undefined && !this.#startsWithLocal(name)) {
      const type = this.#variable(name);
      if (type) {
        this.#names.set(expr.id, name);
        return type;
      }
    }
    const field = this.#fieldOf(this.#resolved(this.check(expr.operand)), expr.field, expr);
    return expr.isTest ? BOOL : field;
  }

  #startsWithLocal(name: string): boolean {
    return this.#local(name.split(".", 1)[0] ?? "") !== undefined;
  }

  #fieldOf(type: CelType, field: string, at: Expr): CelType {
    if (isOptionalType(type)) return optionalOf(this.#fieldOf(this.#resolved(type.parameters[0] ?? DYN), field, at));
    switch (type.kind) {
      case "dyn":
      case "error":
      case "parameter":
        return DYN;
      case "map":
        return type.value;
      case "object": {
        const known = type.fields.get(field);
        if (known) return known.type;
        return type.open ? DYN : this.#complain(at, `undefined field '${field}'`);
      }
      default:
        return this.#complain(at, `type '${formatType(type)}' does not support field selection`);
    }
  }

  #call(expr: Call): CelType {
    if (expr.name === "_?._") return this.#optionalSelect(expr);
    const { functions } = this.#options;
    const qualifier = expr.target && qualifiedName(expr.target);
    const qualified = qualifier === undefined ? undefined : `${qualifier}.${expr.name}`;
    const isQualified =
      qualified !== undefined && functions.find(qualified) !== undefined && !this.#startsWithLocal(qualified);
    const name = isQualified ? qualified : expr.name;
    const target = isQualified ? undefined : expr.target;

    const declaration = functions.find(name);
    const args = this.#arguments(name, target ? [target, ...expr.args] : expr.args);
    if (!declaration) return this.#complain(expr, `undeclared reference to '${name}' (in container '')`);

    const isMember = target !== undefined;
    const fitting: Overload[] = [];
    let result: CelType | undefined;
    for (const overload of declaration.overloads) {
      if (overload.isMember !== isMember || overload.parameters.length !== args.length) continue;
      const [parameters, overloadResult] = this.#instantiated(overload);
      if (!this.#substitution.fitsAll(parameters, args)) continue;
      fitting.push(overload);
      const resolved = this.#resolved(overloadResult);
      if (result === undefined) result = resolved;
      else if (formatType(result) !== formatType(resolved)) result = DYN;
    }
    if (result === undefined) {
      const shown = args.map((arg) => formatType(this.#resolved(arg)));
      const signature = isMember ? `${shown[0]}.(${shown.slice(1).join(", ")})` : `(${shown.join(", ")})`;
      return this.#complain(expr, `found no matching overload for '${name}' applied to '${signature}'`);
    }
    this.#calls.set(expr.id, { name, isMember, overloads: fitting });
    return result;
  }

  #arguments(name: string, args: readonly Expr[]): CelType[] {
    const isFormat = name === "format";
    if (isFormat) this.#mixed++;
    const types = args.map((arg) => this.check(arg));
    if (isFormat) this.#mixed--;
    // What && and || are given is complained about by itself: their other side is fine.
    if (name !== "_&&_" && name !== "_||_") return types;
    return types.map((type, index) => {
      const arg = args[index];
      if (!arg || this.#substitution.fits(BOOL, type)) return type;
      this.#mustBe(BOOL, type, arg);
      return ERROR;
    });
  }

  #optionalSelect(expr: Call): CelType {
    const [operand, field] = expr.args;
    if (!operand || field?.kind !== "literal") return this.#complain(expr, "unsupported optional field selection");
    const type = this.#resolved(this.check(operand));
    this.#types.set(field.id, STRING);
    const found = this.#fieldOf(type, String(field.value), expr);
    return isOptionalType(found) ? found : optionalOf(found);
  }

  /** The overload's types with parameters of this call's own. */
  #instantiated({ parameters, result }: Overload): [readonly CelType[], CelType] {
    const names = new Map<string, CelType>();
    const fresh = (type: CelType): CelType => {
      if (type.kind === "parameter") {
        const known = names.get(type.name) ?? this.#parameter();
        names.set(type.name, known);
        return known;
      }
      const inner = parametersOf(type);
      return inner.length === 0 ? type : withParameters(type, inner.map(fresh));
    };
    return [parameters.map(fresh), fresh(result)];
  }

  #parameter(): CelType {
    return { kind: "parameter", name: `_var${this.#fresh++}` };
  }

  #list(expr: ListExpr): CelType {
    const types = expr.items.map((item, index) => {
      const type = this.check(item);
      return expr.optional.has(index) ? this.#unwrapped(type, item) : type;
    });
    return listOf(this.#together(types, expr.items));
  }

  #map(expr: MapExpr): CelType {
    const keys: CelType[] = [];
    const values: CelType[] = [];
    for (const { key, value, isOptional } of expr.entries) {
      keys.push(this.check(key));
      const type = this.check(value);
      values.push(isOptional ? this.#unwrapped(type, value) : type);
    }
    const { entries } = expr;
    const key = this.#together(
      keys,
      entries.map((entry) => entry.key),
    );
    return mapOf(
      key,
      this.#together(
        values,
        entries.map((entry) => entry.value),
      ),
    );
  }

  #unwrapped(type: CelType, at: Expr): CelType {
    const resolved = this.#resolved(type);
    if (isOptionalType(resolved)) return resolved.parameters[0] ?? DYN;
    if (resolved.kind === "dyn" || resolved.kind === "error") return DYN;
    return this.#complain(
      at,
      `expected type 'optional_type(${formatType(resolved)})' but found '${formatType(resolved)}'`,
    );
  }

  /** The one type of all items; where there is none, that is a complaint or dyn. */
  #together([first, ...rest]: readonly CelType[], items: readonly Expr[]): CelType {
    if (first === undefined) return this.#parameter();
    const isStrict = this.#options.homogeneousLiterals && this.#mixed === 0;
    let together = first;
    for (const [index, type] of rest.entries()) {
      const at = items[index + 1];
      if (isStrict && at && !this.#substitution.fits(first, type)) this.#mustBe(first, type, at);
      together = joined(together, type, this.#substitution);
    }
    return together;
  }

  #comprehension(expr: Comprehension): CelType {
    const [first, second] = this.#iterated(this.#resolved(this.check(expr.range)), expr);
    const accumulator = this.check(expr.init);

    this.#locals.push(new Map([[expr.accumulator, accumulator]]));
    const variables = new Map<string, CelType>();
    if (!expr.isBinding) {
      variables.set(expr.variable, first);
      if (expr.variable2 !== undefined) variables.set(expr.variable2, second);
    }
    this.#locals.push(variables);
    this.#mustBe(BOOL, this.check(expr.condition), expr.condition);
    this.#mustBe(accumulator, this.check(expr.step), expr.step);
    this.#locals.pop();
    const result = this.check(expr.result);
    this.#locals.pop();
    return this.#resolved(result);
  }

  /** The types of the variables of a loop over a value. */
  #iterated(type: CelType, { range, variable2 }: Comprehension): [CelType, CelType] {
    switch (type.kind) {
      case "list":
        return variable2 === undefined ? [type.element, DYN] : [INT, type.element];
      case "map":
        return [type.key, type.value];
      case "dyn":
      case "error":
      case "parameter":
        return [DYN, DYN];
      default:
        return [
          this.#complain(
            range,
            `expression of type '${formatType(type)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
          ),
          ERROR,
        ];
    }
  }

  #mustBe(expected: CelType, actual: CelType, at: Expr): void {
    if (this.#substitution.fits(expected, actual)) return;
    this.#complain(
      at,
      `expected type '${formatType(this.#resolved(expected))}' but found '${formatType(this.#resolved(actual))}'`,
    );
  }

  #resolved(type: CelType): CelType {
    return this.#substitution.resolve(type);
  }

  #complain({ offset }: Expr, message: string): CelType {
    this.issues.push({ message, offset });
    return ERROR;
  }
}

function literalType(value: CelValue): CelType {
  switch (typeof value) {
    case "boolean":
      return BOOL;
    case "bigint":
      return INT;
    case "number":
      return DOUBLE;
    case "string":
      return STRING;
    default:
  }
  if (value === null) return NULL;
  if (value instanceof Uint) return UINT;
  if (value instanceof Timestamp) return TIMESTAMP;
  return value instanceof Duration ? DURATION : BYTES;
}
