/** Request bodies: read within bounds, decoded by their content type. */
import type { DynamicObject } from "#api/meta";
import type { Clock } from "#lib/clock";
import { isObject, parseJson } from "#lib/json";
import { ApiError, badRequest, timedOut, tooLarge, unsupportedMediaType } from "../errors.ts";
import { decodeProtobuf } from "../types/index.ts";
import { endOfString } from "./json-text.ts";
import type { Request } from "./messages.ts";
import { PROTOBUF } from "./negotiation.ts";
import { repeatedFields } from "./repeated-fields.ts";
import { parseYaml } from "./yaml.ts";

/** As kube-apiserver: room for an object of etcd's size in the most wasteful encoding. */
const LARGEST_BODY = 3 * 1024 * 1024;

/** Deeper than any object a person writes, and shallow enough for every recursive walk that follows. */
const DEEPEST_BODY = 500;

/** As kube-apiserver gives a request to finish: whoever sends slower holds a place that others wait for. */
const PATIENCE_MS = 60_000;

/**
 * All of the body, or 413, or 504 when it takes too long. What is left of a body that is too large runs off unread, so
 * that the client, still busy sending, gets to hear the answer.
 */
export function readBody(request: Request, clock: Clock): Promise<Buffer> {
  let cancel = () => {};
  const read = new Promise<Buffer>((resolve, reject) => {
    cancel = clock.after(PATIENCE_MS, () => reject(timedOut("the body of the request takes too long")));
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= LARGEST_BODY) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      request.off("data", onData);
      request.resume();
      reject(tooLarge(`Request entity too large: limit is ${LARGEST_BODY}`));
    };
    request.on("data", onData);
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("close", () => {
      if (!request.complete) reject(badRequest("the body of the request ends too early"));
    });
    request.once("error", () => reject(badRequest("the body of the request cannot be read")));
  });
  return read.finally(cancel);
}

export interface DecodeOptions {
  /** Custom kinds have no protobuf form. */
  readonly protobuf: boolean;
  /** Is told of every field that the body has twice, in words; the last one counts. */
  readonly repeated?: (text: string) => void;
}

/** The object in a body. */
export function decodeObject(
  body: Buffer,
  contentType: string | undefined,
  { protobuf, repeated = () => {} }: DecodeOptions,
): DynamicObject {
  const type = mediaTypeOf(contentType);
  const accepted = ["application/json", "application/yaml", ...(protobuf ? [PROTOBUF] : [])];
  if (!accepted.includes(type)) throw unsupportedMediaType(accepted);
  if (type === PROTOBUF) return decodeProtobuf(body).object as unknown as DynamicObject;
  const value = type === "application/yaml" ? readYaml(textOf(body), repeated) : readJson(body, repeated);
  if (!isObject(value)) throw badRequest("the body of the request must be an object");
  return value as unknown as DynamicObject;
}

function readJson(body: Buffer, repeated: (text: string) => void): unknown {
  const value = parseText(body);
  for (const path of repeatedFields(body.toString("utf8"))) repeated(`duplicate field ${JSON.stringify(path)}`);
  return value;
}

/** JSON as text, whatever it holds: patches are arrays as well as objects. */
export function parseText(body: Buffer): unknown {
  if (body.length === 0) throw badRequest("the body of the request is empty");
  const text = textOf(body);
  refuseDepth(text);
  try {
    return parseJson(text);
  } catch (error) {
    throw badRequest(`the body of the request is not JSON: ${messageOf(error)}`);
  }
}

export function mediaTypeOf(contentType: string | undefined): string {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  return type ? type : "application/json";
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

export function textOf(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw badRequest("the body of the request is not valid UTF-8");
  }
}

function readYaml(text: string, repeated: (text: string) => void): unknown {
  try {
    const { value, repetition } = parseYaml(text);
    if (repetition !== undefined) repeated(repetition);
    refuseGrowth(value, text.length);
    return value;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw badRequest(`the body of the request is not YAML: ${messageOf(error)}`);
  }
}

/** Aliases make a tree out of a few bytes that fills the memory; without them every node takes a byte at least. */
function refuseGrowth(root: unknown, most: number): void {
  let count = 0;
  const walk = (value: unknown, depth: number): void => {
    if (depth > DEEPEST_BODY) throw badRequest(`the body of the request is nested deeper than ${DEEPEST_BODY} levels`);
    if (++count > most) throw badRequest("the body of the request contains excessive aliasing");
    if (typeof value !== "object" || value === null) return;
    for (const each of Object.values(value)) walk(each, depth + 1);
  };
  walk(root, 0);
}

/** Counts open brackets outside of strings, in one pass, before anything recursive sees the text. */
export function refuseDepth(text: string): void {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === 0x22) at = endOfString(text, at);
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > DEEPEST_BODY)
        throw badRequest(`the body of the request is nested deeper than ${DEEPEST_BODY} levels`);
    } else if (char === 0x5d || char === 0x7d) depth--;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
