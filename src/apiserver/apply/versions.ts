/** The versions of a kind, with their types built on first use. */
import type { DynamicObject } from "#api/meta";
import type { OpenApiSchema } from "#api/schema";
import { normalize } from "../types/index.ts";
import { builtinType } from "./builtin-types.ts";
import { customType } from "./custom-types.ts";
import type { VersionedType, Versions } from "./take-over.ts";

export interface BuiltinVersion {
  readonly apiVersion: string;
  readonly kind: string;
  /** In the type table. */
  readonly typeKey: string;
  /** From the stored form to this version, and back; where there is but one form, it is left out. */
  present?(stored: DynamicObject): DynamicObject;
  toStored?(object: DynamicObject): DynamicObject;
}

/** One version of a built-in kind. */
export function builtinVersion({
  apiVersion,
  kind,
  typeKey,
  present = same,
  toStored = same,
}: BuiltinVersion): Versions {
  let built: VersionedType | undefined;
  return (asked) => {
    if (asked !== apiVersion) return undefined;
    if (!built) {
      const empty = { ...normalize(typeKey, {}).object, apiVersion, kind } as unknown as DynamicObject;
      built = { type: builtinType(typeKey), present, toShared: toStored, empty: () => empty };
    }
    return built;
  };
}

export interface CustomVersion {
  readonly apiVersion: string;
  readonly schema: OpenApiSchema;
}

/** An object in another version than its own. */
export type ToVersion = (object: DynamicObject, apiVersion: string) => DynamicObject;

/** All versions of a custom kind, served or not; unless told, they differ in nothing but their name and their schema. */
export function customVersions(
  kind: string,
  versions: readonly CustomVersion[],
  toVersion: ToVersion = (object, apiVersion) => ({ ...object, apiVersion }),
): Versions {
  const built = new Map<string, VersionedType>();
  return (apiVersion) => {
    const known = built.get(apiVersion);
    if (known) return known;
    const version = versions.find((each) => each.apiVersion === apiVersion);
    if (!version) return undefined;
    const fresh: VersionedType = {
      type: customType(version.schema),
      present: (object) => (object.apiVersion === apiVersion ? object : toVersion(object, apiVersion)),
      toShared: same,
      empty: () => ({ apiVersion, kind }) as unknown as DynamicObject,
    };
    built.set(apiVersion, fresh);
    return fresh;
  };
}

function same(object: DynamicObject): DynamicObject {
  return object;
}
