import { clone, equal, isObject, stringifyJson } from "#lib/json";
import { PatchError } from "./error.ts";
import { ownField, setField } from "./fields.ts";

export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly path: string; readonly from: string };

export interface JsonPatchLimits {
  /** How many bytes of JSON all `copy` operations together may add; 3 MiB unless told, as in kube-apiserver. */
  readonly maxCopyBytes?: number;
}

const MAX_COPY_BYTES = 3 * 1024 * 1024;

/** Reads a JSON patch from a decoded body. Throws PatchError (Malformed). */
export function parseJsonPatch(body: unknown): JsonPatchOperation[] {
  if (!Array.isArray(body)) throw new PatchError("Malformed", "a JSON patch must be an array of operations");
  return body.map(parseOperation);
}

function parseOperation(body: unknown): JsonPatchOperation {
  if (!isObject(body)) throw new PatchError("Malformed", "a JSON patch operation must be an object");
  const op = ownField(body, "op");
  const path = pointerField(body, "path");
  switch (op) {
    case "add":
    case "replace":
    case "test":
      return { op, path, value: ownField(body, "value") ?? null };
    case "remove":
      return { op, path };
    case "move":
    case "copy":
      return { op, path, from: pointerField(body, "from") };
    default:
      throw new PatchError("Malformed", `unexpected kind of JSON patch operation: ${stringifyJson(op ?? "unknown")}`);
  }
}

function pointerField(body: Record<string, unknown>, field: "path" | "from"): string {
  const value = ownField(body, field);
  if (typeof value === "string") return value;
  throw new PatchError("Malformed", `a JSON patch operation needs a ${field} that is a string`);
}

/**
 * The document after all operations, or PatchError and no change at all. Kubernetes is more lenient than RFC 6902,
 * and so is this: `replace` may name a field that is missing, `test` for null is passed by a missing field, and
 * negative indexes count from the end.
 */
export function applyJsonPatch(
  document: unknown,
  operations: readonly JsonPatchOperation[],
  { maxCopyBytes = MAX_COPY_BYTES }: JsonPatchLimits = {},
): unknown {
  let root = clone(document);
  let copied = 0;
  for (const operation of operations) {
    const { op, path } = operation;
    switch (op) {
      case "add":
        locate(root, path, op).add(clone(operation.value));
        break;
      case "replace":
        if (path === "") root = wholeDocument(operation.value);
        else locate(root, path, op).replace(clone(operation.value));
        break;
      case "remove":
        locate(root, path, op).remove();
        break;
      case "test": {
        const found = path === "" ? root : locate(root, path, op).get();
        if (!equal(found ?? null, operation.value)) throw new PatchError("TestFailed", `testing value ${path} failed`);
        break;
      }
      case "move": {
        const source = locate(root, operation.from, op);
        const value = source.get();
        source.remove();
        locate(root, path, op).add(value);
        break;
      }
      case "copy": {
        const value = locate(root, operation.from, op).get() ?? null;
        copied += Buffer.byteLength(stringifyJson(value));
        if (copied > maxCopyBytes) {
          throw new PatchError("TooLarge", `the copies of the patch exceed ${maxCopyBytes} bytes`);
        }
        locate(root, path, op).add(clone(value));
        break;
      }
    }
  }
  return root;
}

function wholeDocument(value: unknown): unknown {
  if (typeof value === "object" && value !== null) return clone(value);
  throw new PatchError("MissingPath", "the whole document can only be replaced by an object or an array");
}

/** A place inside an object or array, where something is or could be. */
interface Place {
  /** `undefined` for a field that is missing; throws for an index that is. */
  get(): unknown;
  add(value: unknown): void;
  replace(value: unknown): void;
  remove(): void;
}

function locate(root: unknown, path: string, op: string): Place {
  const [first, ...parts] = path.split("/").map(unescapeToken);
  const last = parts.pop();
  if (first !== "" || last === undefined) throw missing(op, path);
  let parent: unknown = root;
  for (const part of parts) {
    parent = placeIn(parent, part, op, path).get();
  }
  return placeIn(parent, last, op, path);
}

function placeIn(parent: unknown, token: string, op: string, path: string): Place {
  if (Array.isArray(parent)) return indexPlace(parent, token, op, path);
  if (isObject(parent)) return fieldPlace(parent, token, op, path);
  throw missing(op, path);
}

function fieldPlace(parent: Record<string, unknown>, key: string, op: string, path: string): Place {
  return {
    get: () => ownField(parent, key),
    add: (value) => setField(parent, key, value),
    replace: (value) => setField(parent, key, value),
    remove() {
      if (!Object.hasOwn(parent, key)) throw missing(op, path);
      delete parent[key];
    },
  };
}

const INDEX = /^[+-]?\d{1,15}$/;

function indexPlace(parent: unknown[], token: string, op: string, path: string): Place {
  /** Where the token points, when there are `length` places to point at. */
  const index = (length: number): number => {
    if (!INDEX.test(token)) throw missing(op, path);
    const given = Number(token);
    const at = given < 0 ? given + length : given;
    if (at < 0 || at >= length) throw missing(op, path);
    return at;
  };
  return {
    get: () => parent[index(parent.length)],
    add(value) {
      if (token === "-") parent.push(value);
      else parent.splice(index(parent.length + 1), 0, value);
    },
    replace(value) {
      parent[index(parent.length)] = value;
    },
    remove() {
      parent.splice(index(parent.length), 1);
    },
  };
}

function unescapeToken(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

function missing(op: string, path: string): PatchError {
  return new PatchError("MissingPath", `${op} operation does not apply: doc is missing path: ${JSON.stringify(path)}`);
}
