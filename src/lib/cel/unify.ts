/** Whether one type fits where another is expected, finding out on the way what type parameters stand for. */
import { type CelType, DYN, type ParameterType, parametersOf, withParameters } from "./types.ts";

/** What is known about type parameters; tried on a copy, and kept if it fits. */
export class Substitution {
  #known: Map<string, CelType>;

  constructor(known: ReadonlyMap<string, CelType> = new Map()) {
    this.#known = new Map(known);
  }

  copy(): Substitution {
    return new Substitution(this.#known);
  }

  become(other: Substitution): void {
    this.#known = other.#known;
  }

  /** Whether a value of type `actual` can be used where `expected` is wanted. */
  fits(expected: CelType, actual: CelType): boolean {
    const attempt = this.copy();
    if (!attempt.#unify(expected, actual)) return false;
    this.become(attempt);
    return true;
  }

  fitsAll(expected: readonly CelType[], actual: readonly CelType[]): boolean {
    if (expected.length !== actual.length) return false;
    const attempt = this.copy();
    if (!expected.every((type, index) => attempt.#unify(type, actual[index] ?? DYN))) return false;
    this.become(attempt);
    return true;
  }

  /** The type with everything that is known filled in; `open` says what stays for the rest. */
  resolve(type: CelType, open: "keep" | "dyn" = "keep"): CelType {
    if (type.kind === "parameter") {
      const known = this.#known.get(type.name);
      if (known) return this.resolve(known, open);
      return open === "dyn" ? DYN : type;
    }
    const inner = parametersOf(type);
    if (inner.length === 0) return type;
    const resolved = inner.map((part) => this.resolve(part, open));
    return resolved.every((part, index) => part === inner[index]) ? type : withParameters(type, resolved);
  }

  #unify(expectedType: CelType, actualType: CelType): boolean {
    const expected = this.#shallow(expectedType);
    const actual = this.#shallow(actualType);
    if (expected === actual) return true;
    if (actual.kind === "parameter") return this.#bind(actual, expected);
    if (expected.kind === "parameter") return this.#bind(expected, actual);
    if (isAnything(expected) || isAnything(actual)) return true;
    if (expected.kind === "null" || actual.kind === "null") {
      return isNullable(expected.kind === "null" ? actual : expected);
    }
    if (expected.kind !== actual.kind) return false;
    if (expected.kind === "object" || expected.kind === "opaque") {
      if (expected.name !== (actual as { name: string }).name) return false;
    }
    // Which type a type value names is found out while running.
    if (expected.kind === "type") return true;
    const inner = parametersOf(expected);
    const others = parametersOf(actual);
    return inner.length === others.length && inner.every((part, index) => this.#unify(part, others[index] ?? DYN));
  }

  #shallow(type: CelType): CelType {
    let current = type;
    while (current.kind === "parameter") {
      const known = this.#known.get(current.name);
      if (!known) return current;
      current = known;
    }
    return current;
  }

  #bind(parameter: ParameterType, type: CelType): boolean {
    if (type.kind === "parameter" && type.name === parameter.name) return true;
    if (this.#mentions(type, parameter.name)) return false;
    this.#known.set(parameter.name, type);
    return true;
  }

  #mentions(type: CelType, name: string): boolean {
    const current = this.#shallow(type);
    if (current.kind === "parameter") return current.name === name;
    return parametersOf(current).some((part) => this.#mentions(part, name));
  }
}

function isAnything({ kind }: CelType): boolean {
  return kind === "dyn" || kind === "error";
}

function isNullable({ kind }: CelType): boolean {
  return kind === "null" || kind === "object" || kind === "opaque" || kind === "timestamp" || kind === "duration";
}

/** One type for values of both types: the more general of the two, or dyn. */
export function joined(first: CelType, second: CelType, substitution: Substitution): CelType {
  const [left, right] = [substitution.resolve(first), substitution.resolve(second)];
  if (left.kind === "dyn" || right.kind === "dyn") return DYN;
  if (substitution.fits(left, right)) return substitution.resolve(left);
  return DYN;
}
