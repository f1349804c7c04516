/**
 * Values as expressions see them. Strings, booleans, null and lists are JavaScript's; int is a bigint and double a
 * number, so that the two cannot be mixed up; everything else has a class.
 */

export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | Optional
  | TypeValue
  | MapValue
  | Opaque
  | readonly CelValue[];

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** A moment, in nanoseconds since 1970. */
export class Timestamp {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A value that may not be there. */
export class Optional {
  static readonly none = new Optional(undefined);
  readonly value: CelValue | undefined;

  private constructor(value: CelValue | undefined) {
    this.value = value;
  }

  static of(value: CelValue): Optional {
    return new Optional(value);
  }
}

/** What `type(x)` gives. */
export class TypeValue {
  readonly typeName: string;

  constructor(typeName: string) {
    this.typeName = typeName;
  }
}

/** Maps, and objects with fields: both are looked into by key. */
export abstract class MapValue {
  /** Objects have the name of their type, maps are maps. */
  abstract readonly typeName: string;
  abstract readonly size: number;
  abstract get(key: CelValue): CelValue | undefined;
  abstract keys(): Iterable<CelValue>;
}

/** Values of libraries and hosts: they know their type's name and what they are equal to. */
export abstract class Opaque {
  abstract readonly typeName: string;
  abstract equals(other: Opaque): boolean;
}

/** A map that an expression made. */
export class NativeMap extends MapValue {
  readonly typeName = "map";
  readonly #entries = new Map<string, readonly [CelValue, CelValue]>();

  constructor(entries: Iterable<readonly [CelValue, CelValue]> = []) {
    super();
    for (const [key, value] of entries) this.set(key, value);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Only whoever makes the map calls this; to expressions it never changes. */
  set(key: CelValue, value: CelValue): void {
    const identity = identityOf(key);
    if (identity !== undefined) this.#entries.set(identity, [key, value]);
  }

  has(key: CelValue): boolean {
    const identity = identityOf(key);
    return identity !== undefined && this.#entries.has(identity);
  }

  get(key: CelValue): CelValue | undefined {
    const identity = identityOf(key);
    return identity === undefined ? undefined : this.#entries.get(identity)?.[1];
  }

  *keys(): Iterable<CelValue> {
    for (const [key] of this.#entries.values()) yield key;
  }
}

/** The same text for keys that are equal: 1, 1u and 1.0 are. Undefined for what cannot be a key. */
function identityOf(key: CelValue): string | undefined {
  if (typeof key === "string") return `s${key}`;
  if (typeof key === "bigint") return `n${key}`;
  if (typeof key === "boolean") return `b${key}`;
  if (key instanceof Uint) return `n${key.value}`;
  if (typeof key === "number" && Number.isInteger(key)) return `n${BigInt(key)}`;
  return undefined;
}

/** How a list behaves beyond being a row of values: Kubernetes has sets, and lists that are maps by some keys. */
export type ListTraits =
  | { readonly kind: "set" }
  | { readonly kind: "map"; readonly identity: (item: CelValue) => string };

const TRAITS = new WeakMap<readonly CelValue[], ListTraits>();

export function withTraits(list: readonly CelValue[], traits: ListTraits): readonly CelValue[] {
  TRAITS.set(list, traits);
  return list;
}

export function traitsOf(list: readonly CelValue[]): ListTraits | undefined {
  return TRAITS.get(list);
}

export function isList(value: CelValue): value is readonly CelValue[] {
  return Array.isArray(value);
}

/** The name of a value's type. */
export function typeNameOf(value: CelValue): string {
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    case "string":
      return "string";
    default:
  }
  if (value === null) return "null_type";
  if (isList(value)) return "list";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Uint) return "uint";
  if (value instanceof Timestamp) return "google.protobuf.Timestamp";
  if (value instanceof Duration) return "google.protobuf.Duration";
  if (value instanceof Optional) return "optional_type";
  if (value instanceof TypeValue) return "type";
  return (value as MapValue | Opaque).typeName;
}
