/** Values that may not be there. */
import { equals } from "../equality.ts";
import { failure } from "../errors.ts";
import { declare, type FunctionDeclaration, overload } from "../functions.ts";
import { type CelValue, Duration, isList, MapValue, Optional, Timestamp, Uint } from "../values.ts";

type List = readonly CelValue[];

function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === "") return true;
  if (isList(value) || value instanceof Uint8Array) return value.length === 0;
  if (value instanceof MapValue) return value.size === 0;
  if (value instanceof Duration || value instanceof Timestamp) return value.nanos === 0n;
  if (value instanceof Optional) return value.value === undefined;
  return typeof value === "bigint" || typeof value === "number" || value instanceof Uint ? equals(value, 0n) : false;
}

function itemAt(list: List, index: bigint): Optional {
  const item = index < 0n || index >= list.length ? undefined : list[Number(index)];
  return item === undefined ? Optional.none : Optional.of(item);
}

function entryAt(map: MapValue, key: CelValue): Optional {
  const value = map.get(key);
  return value === undefined ? Optional.none : Optional.of(value);
}

/** Looks into what is inside an optional, whether it is a list or a map. */
function inside({ value }: Optional, key: CelValue): Optional {
  if (value === undefined) return Optional.none;
  if (isList(value) && typeof key === "bigint") return itemAt(value, key);
  if (value instanceof MapValue) return entryAt(value, key);
  throw failure("no such overload");
}

export const optionalLibrary: readonly FunctionDeclaration[] = [
  declare(
    "optional.of",
    overload("optional_of", "(V) -> optional(V)", (value: CelValue) => Optional.of(value)),
  ),
  declare(
    "optional.none",
    overload("optional_none", "() -> optional(V)", () => Optional.none),
  ),
  declare(
    "optional.ofNonZeroValue",
    overload("optional_ofNonZeroValue", "(V) -> optional(V)", (value: CelValue) =>
      isZero(value) ? Optional.none : Optional.of(value),
    ),
  ),
  declare(
    "hasValue",
    overload("optional_hasValue", "optional(V).() -> bool", ({ value }: Optional) => value !== undefined),
  ),
  declare(
    "value",
    overload("optional_value", "optional(V).() -> V", ({ value }: Optional) => {
      if (value === undefined) throw failure("optional.none() dereference");
      return value;
    }),
  ),
  declare(
    "or",
    overload("optional_or_optional", "optional(V).(optional(V)) -> optional(V)", (first: Optional, second: Optional) =>
      first.value === undefined ? second : first,
    ),
  ),
  declare(
    "orValue",
    overload("optional_orValue_value", "optional(V).(V) -> V", ({ value }: Optional, other: CelValue) =>
      value === undefined ? other : value,
    ),
  ),
  declare(
    "_[_]",
    overload("optional_list_index_int", "(optional(list(V)), int) -> optional(V)", inside),
    overload("optional_map_index_value", "(optional(map(K, V)), K) -> optional(V)", inside),
  ),
  declare(
    "_[?_]",
    overload("list_optindex_optional_int", "(list(V), int) -> optional(V)", itemAt),
    overload("map_optindex_optional_value", "(map(K, V), K) -> optional(V)", entryAt),
    overload("optional_list_optindex_optional_int", "(optional(list(V)), int) -> optional(V)", inside),
    overload("optional_map_optindex_optional_value", "(optional(map(K, V)), K) -> optional(V)", inside),
  ),
  declare("optional.unwrap", overload("optional_unwrap", "(list(optional(V))) -> list(V)", unwrapped)),
  declare("unwrapOpt", overload("optional_unwrapOpt", "list(optional(V)).() -> list(V)", unwrapped)),
  declare(
    "first",
    overload("list_first", "list(V).() -> optional(V)", (list: List) => itemAt(list, 0n)),
  ),
  declare(
    "last",
    overload("list_last", "list(V).() -> optional(V)", (list: List) => itemAt(list, BigInt(list.length - 1))),
  ),
];

function unwrapped(list: List): List {
  return list.flatMap((item) => (item instanceof Optional && item.value !== undefined ? [item.value] : []));
}
