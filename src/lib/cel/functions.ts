/** Functions that expressions can call: their declarations, and how values choose between them. */
import { type CelType, isOptionalType, listOf, mapOf, opaque, optionalOf, TYPE_NAMES, typeOfType } from "./types.ts";
import { type CelValue, Duration, isList, MapValue, Opaque, Optional, Timestamp, TypeValue, Uint } from "./values.ts";

/** One way to call a function. */
export interface Overload {
  /** Names this overload; costs are told apart by it. */
  readonly id: string;
  readonly isMember: boolean;
  /** The target of a member comes first. */
  readonly parameters: readonly CelType[];
  readonly result: CelType;
  readonly call: (...args: CelValue[]) => CelValue;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

/**
 * Declares an overload. The signature reads like `(list(T), int) -> T`, or `string.(int) -> string` for a member;
 * single capital letters stand for any type.
 */
export function overload<A extends CelValue[]>(
  id: string,
  signature: string,
  call: (...args: A) => CelValue,
): Overload {
  const found = /^(?:(.+)\.)?\((.*)\) -> (.+)$/.exec(signature);
  if (!found) throw new Error(`not a signature: ${signature}`);
  const [, target, parameters = "", result = ""] = found;
  const types = splitTypes(parameters).map(parseType);
  return {
    id,
    isMember: target !== undefined,
    parameters: target === undefined ? types : [parseType(target), ...types],
    result: parseType(result),
    call: call as unknown as Overload["call"],
  };
}

export function declare(name: string, ...overloads: Overload[]): FunctionDeclaration {
  return { name, overloads };
}

/** A type as signatures write it. */
export function parseType(text: string): CelType {
  const found = /^([\w.]+)(?:\((.*)\))?$/.exec(text.trim());
  if (!found) throw new Error(`not a type: ${text}`);
  const [, name = "", inner] = found;
  if (inner === undefined) {
    if (/^[A-Z]$/.test(name)) return { kind: "parameter", name };
    if (name === "timestamp") return { kind: "timestamp" };
    if (name === "duration") return { kind: "duration" };
    if (name === "null") return { kind: "null" };
    return TYPE_NAMES.get(name) ?? opaque(name);
  }
  const [first, second] = splitTypes(inner).map(parseType);
  if (!first) throw new Error(`not a type: ${text}`);
  if (name === "list") return listOf(first);
  if (name === "map" && second) return mapOf(first, second);
  if (name === "optional") return optionalOf(first);
  if (name === "type") return typeOfType(first);
  throw new Error(`not a type: ${text}`);
}

/** Splits at commas that are not inside parentheses. */
function splitTypes(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let current = "";
  for (const char of text) {
    if (char === "(") depth++;
    if (char === ")") depth--;
    if (char === "," && depth === 0) {
      parts.push(current);
      current = "";
    } else current += char;
  }
  if (current.trim() !== "") parts.push(current);
  return parts;
}

/** Functions by name; several libraries may add overloads to one. */
export class FunctionTable {
  readonly #functions = new Map<string, FunctionDeclaration>();

  constructor(...libraries: readonly (readonly FunctionDeclaration[])[]) {
    for (const { name, overloads } of libraries.flat()) {
      const known = this.#functions.get(name)?.overloads ?? [];
      this.#functions.set(name, { name, overloads: [...known, ...overloads] });
    }
  }

  find(name: string): FunctionDeclaration | undefined {
    return this.#functions.get(name);
  }
}

/** Whether a value can be passed where a type is declared; what is inside lists and maps is not looked at. */
export function accepts(type: CelType, value: CelValue): boolean {
  switch (type.kind) {
    case "dyn":
    case "parameter":
    case "error":
      return true;
    case "null":
      return value === null;
    case "bool":
      return typeof value === "boolean";
    case "int":
      return typeof value === "bigint";
    case "uint":
      return value instanceof Uint;
    case "double":
      return typeof value === "number";
    case "string":
      return typeof value === "string";
    case "bytes":
      return value instanceof Uint8Array;
    case "timestamp":
      return value instanceof Timestamp;
    case "duration":
      return value instanceof Duration;
    case "list":
      return isList(value);
    case "map":
    case "object":
      return value instanceof MapValue;
    case "type":
      return value instanceof TypeValue;
    case "opaque":
      return isOptionalType(type) ? value instanceof Optional : value instanceof Opaque && value.typeName === type.name;
  }
}

/** The overload whose parameters fit the values. */
export function selectOverload(overloads: readonly Overload[], args: readonly CelValue[]): Overload | undefined {
  for (const candidate of overloads) {
    const { parameters } = candidate;
    if (parameters.length !== args.length) continue;
    let fits = true;
    for (let index = 0; fits && index < args.length; index++) {
      const type = parameters[index];
      fits = type !== undefined && accepts(type, args[index] as CelValue);
    }
    if (fits) return candidate;
  }
  return undefined;
}
