/** The metadata of custom objects, and of objects embedded in them: it follows no schema but ObjectMeta's. */
import { normalize } from "../types/index.ts";
import { childPath, type Path } from "./path.ts";

const OBJECT_META = "meta/v1#ObjectMeta";

/** Metadata as Go would read it; unknown fields are reported by path. Throws ApiError 400 for a wrong type. */
export function decodeMetadata(value: unknown, path: Path, unknown: string[]): Record<string, unknown> {
  const { object, unknownFields } = normalize(OBJECT_META, value);
  for (const name of unknownFields) unknown.push(childPath(path, name));
  return object;
}
