/** Requests for resources: from a URL and a body to a verb, and from its result to an answer. */
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { isObject } from "#lib/json";
import { ApiError, badRequest, methodNotAllowed, noSuchResource } from "../errors.ts";
import {
  admitted,
  apply,
  create,
  deleteOptions,
  deletionCode,
  type FieldValidation,
  get,
  list,
  listOptions,
  type NamedTarget,
  patch,
  patchTypeOf,
  plainRevisionOf,
  type RegistryDependencies,
  remove,
  removeCollection,
  shownBy,
  type Target,
  update,
  type WatchEvent,
  watch,
  watchOptions,
  writeOptions,
} from "../registry/index.ts";
import type { RequestContext, Subresource, UserInfo } from "../resource.ts";
import { typeOf } from "../types/index.ts";
import { decodeObject, mediaTypeOf, parseText } from "./body.ts";
import { sendStream } from "./byte-stream.ts";
import { parseConfiguration } from "./configuration.ts";
import type { Response } from "./messages.ts";
import { type Negotiated, negotiate } from "./negotiation.ts";
import type { RequestInfo } from "./request-info.ts";
import { listPresentation, presentation, refuseSingleForm, sendObject, type TableOptions } from "./response.ts";
import { watchFrames } from "./watch-frames.ts";
import { WatchStream } from "./watch-stream.ts";

export interface ResourceRequest {
  readonly info: RequestInfo;
  readonly method: string;
  readonly target: Target;
  readonly user: UserInfo;
  readonly headers: {
    readonly accept: string | undefined;
    readonly userAgent: string | undefined;
    readonly contentType: string | undefined;
  };
  readBody(): Promise<Buffer>;
  readonly warnings: string[];
  /** Filled when the body is read. */
  readonly repeatedFields: string[];
  /** Fires when the client goes away or the server stops. */
  closed(): AbortSignal;
  /** Called when a watch has begun to answer. */
  streaming(): void;
  /** Called with the name of an object that was created. */
  created(name: string): void;
  /** Adds a remark to the audit log. */
  annotate(key: string, value: string): void;
}

export async function serveResource(
  dependencies: RegistryDependencies,
  request: ResourceRequest,
  response: Response,
): Promise<void> {
  const { info, target } = request;
  requireVerb(request);
  if (target.subresource?.connect) return serveConnection(dependencies, request, target.subresource.connect, response);
  const answering = target.resource.answer ?? target.subresource?.answer;
  const negotiated = negotiatedFor(request, answering === undefined);
  if (negotiated.form === "table") refuseUnknownInclude(info);
  noteMissingConversion(request);
  if (info.verb === "watch") return serveWatch(dependencies, request, negotiated, response);

  let answer: Answer;
  try {
    answer = await perform(dependencies, request, negotiated);
  } finally {
    sendWarnings(response, [...new Set(request.warnings)]); // a refusal may be what one was warned of
  }
  sendObject(response, answer.code, answer.body, negotiated);
}

/** What is no object is not negotiated: it comes as it is. */
async function serveConnection(
  dependencies: RegistryDependencies,
  request: ResourceRequest,
  connect: NonNullable<Subresource["connect"]>,
  response: Response,
): Promise<void> {
  const closed = request.closed();
  const stream = await connect({
    parent: await parentOf(dependencies, request.target),
    query: request.info.query,
    closed,
  });
  request.streaming();
  await sendStream(stream, response).catch((error: unknown) => {
    if (!closed.aborted) throw error;
  });
}

/** The object that a subresource belongs to. */
function parentOf(
  dependencies: RegistryDependencies,
  { resource, namespace, name = "" }: Target,
): Promise<DynamicObject> {
  return get(dependencies, { resource, ...(namespace !== undefined && { namespace }), name }, undefined);
}

function negotiatedFor({ headers, info, target }: ResourceRequest, transforms: boolean): Negotiated {
  const { group, version, kind } = target.subresource?.responseKind ?? target.resource;
  return negotiate({
    accept: headers.accept,
    userAgent: headers.userAgent,
    pretty: info.query.get("pretty"),
    transforms,
    protobuf: typeOf(group, version, kind) === undefined ? ["metadata"] : ["object", "metadata"],
  });
}

/** Verbs that are about one object, and so need its name, and its namespace if it lies in one. */
const OF_ONE: ReadonlySet<string> = new Set(["get", "update", "patch", "delete"]);

function requireVerb({ method, info: { verb }, target }: ResourceRequest): void {
  const { resource, subresource, name, namespace } = target;
  const verbs: readonly string[] = subresource ? subresource.verbs : resource.verbs;
  if (!verbs.includes(verb) || method === "HEAD") throw methodNotAllowed();
  if (verb === "create" && name !== undefined && !subresource) throw methodNotAllowed();
  if (verb === "deletecollection" && resource.namespaced && namespace === undefined) throw methodNotAllowed();
  if (!OF_ONE.has(verb)) return;
  if (name === undefined) throw methodNotAllowed();
  if (resource.namespaced && namespace === undefined) throw noSuchResource();
}

/** Objects that nobody could convert are shown all the same, and the audit log tells that they were not. */
function noteMissingConversion({ target: { resource }, annotate }: ResourceRequest): void {
  const why = resource.storedAs === apiVersionOf(resource) ? undefined : resource.conversion?.notConverted();
  if (why !== undefined) annotate(CONVERSION_REMARK, why);
}

const CONVERSION_REMARK = "simulate.capstan.dev/conversion";

interface Answer {
  readonly code: number;
  readonly body: unknown;
}

async function perform(
  dependencies: RegistryDependencies,
  request: ResourceRequest,
  negotiated: Negotiated,
): Promise<Answer> {
  const { info, target } = request;
  const { resource } = target;
  const shown = (object: DynamicObject): unknown =>
    presentation(object, resource, negotiated, tableOptions(dependencies, info));
  const named = target as NamedTarget;

  switch (info.verb) {
    case "get": {
      const version = info.query.get("resourceVersion") ?? "";
      return {
        code: 200,
        body: shown(await get(dependencies, named, version === "" ? undefined : plainRevisionOf(version))),
      };
    }
    case "list": {
      refuseSingleForm(request.headers.accept);
      const listed = await list(dependencies, target, listOptions(info.query));
      return { code: 200, body: listPresentation(listed, resource, negotiated, tableOptions(dependencies, info)) };
    }
    case "create":
      return performCreate(dependencies, request, shown);
    case "update": {
      const context = contextFor(dependencies, request, "UpdateOptions");
      const result = await update(dependencies, named, await objectIn(request), context);
      return { code: result.created ? 201 : 200, body: shown(await viewOf(target, result.object)) };
    }
    case "patch": {
      const type = patchTypeOf(mediaTypeOf(request.headers.contentType), resource);
      if (type === "apply") return performApply(dependencies, request, shown);
      const context = contextFor(dependencies, request, "PatchOptions");
      const result = await patch(dependencies, named, { type, patch: parseText(await request.readBody()) }, context);
      return { code: 200, body: shown(await viewOf(target, result.object)) };
    }
    case "delete": {
      const options = deleteOptions(await deleteBody(request), info.query);
      const context = contextFor(dependencies, request, "DeleteOptions");
      const removed = await remove(dependencies, named, options, context);
      return { code: deletionCode(options, removed), body: removed };
    }
    case "deletecollection": {
      const options = deleteOptions(await deleteBody(request), info.query);
      const context = contextFor(dependencies, request, "DeleteOptions");
      const selection = listOptions(info.query);
      const removed = await removeCollection(dependencies, target, options, selection, context);
      return { code: 200, body: listPresentation(removed, resource, negotiated, tableOptions(dependencies, info)) };
    }
    default:
      throw methodNotAllowed();
  }
}

async function performCreate(
  dependencies: RegistryDependencies,
  request: ResourceRequest,
  shown: (object: DynamicObject) => unknown,
): Promise<Answer> {
  const { target } = request;
  const context = contextFor(dependencies, request, "CreateOptions");
  const body = await objectIn(request);
  if (target.subresource?.answer) {
    const parent = await parentOf(dependencies, target);
    const asked = await admitted(dependencies, target, body, context);
    return { code: 201, body: await target.subresource.answer({ parent, body: asked, context }) };
  }
  if (target.resource.answer) {
    const { object } = target.resource.strategy.decode(body);
    if (target.namespace !== undefined)
      object.metadata = { ...object.metadata, namespace: object.metadata?.namespace || target.namespace };
    const asked = await admitted(dependencies, target, object, context);
    return { code: 201, body: await target.resource.answer(asked, context) };
  }
  const created = await create(dependencies, target, body, context);
  request.created(created.metadata.name);
  return { code: 201, body: shown(await shownBy(target.resource, created)) };
}

async function performApply(
  dependencies: RegistryDependencies,
  request: ResourceRequest,
  shown: (object: DynamicObject) => unknown,
): Promise<Answer> {
  const context = contextFor(dependencies, request, "PatchOptions", { isApply: true });
  const { value, flaw } = parseConfiguration(await request.readBody());
  if (flaw !== undefined) {
    if (context.fieldValidation === "Strict") {
      throw badRequest(`error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${flaw}`);
    }
    if (context.fieldValidation === "Warn") context.warn(flaw);
  }
  const target = request.target as NamedTarget;
  const result = await apply(dependencies, target, value, context);
  return { code: result.created ? 201 : 200, body: shown(await viewOf(target, result.object)) };
}

/** What a write answers with: the view for `/scale`, else the object as this version shows it. */
async function viewOf({ resource, subresource }: Target, object: DynamicObject): Promise<DynamicObject> {
  const presented = await shownBy(resource, object);
  return subresource?.view ? subresource.view.read(presented) : presented;
}

async function objectIn(request: ResourceRequest): Promise<DynamicObject> {
  const body = await request.readBody();
  const { contentType } = request.headers;
  return decodeObject(body, contentType, {
    protobuf: request.target.resource.builtin,
    repeated: (text) => void request.repeatedFields.push(text),
  });
}

async function deleteBody(request: ResourceRequest): Promise<Record<string, unknown> | undefined> {
  const body = await request.readBody();
  if (body.length === 0) return undefined;
  const decoded = decodeObject(body, request.headers.contentType, { protobuf: true });
  if (!isObject(decoded)) throw badRequest("delete options must be an object");
  return decoded as Record<string, unknown>;
}

function contextFor(
  { clock }: RegistryDependencies,
  { info, user, headers, warnings, repeatedFields, annotate }: ResourceRequest,
  options: string,
  { isApply = false }: { isApply?: boolean } = {},
): RequestContext & { fieldValidation: FieldValidation; force: boolean } {
  return {
    ...writeOptions(options, info.query, headers.userAgent, { isApply }),
    user,
    now: clock.now(),
    repeatedFields,
    warn: (text) => void warnings.push(text),
    annotate,
  };
}

const INCLUDES: readonly string[] = ["", "Metadata", "Object", "None"];

function refuseUnknownInclude({ query }: RequestInfo): void {
  const includeObject = query.get("includeObject") ?? "";
  if (INCLUDES.includes(includeObject)) return;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(includeObject)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

function tableOptions({ clock }: RegistryDependencies, { query }: RequestInfo): TableOptions {
  const includeObject = query.get("includeObject") || "Metadata";
  return { includeObject, now: clock.now(), withColumns: true };
}

function serveWatch(
  dependencies: RegistryDependencies,
  request: ResourceRequest,
  negotiated: Negotiated,
  response: Response,
): void {
  const frames = watchFrames(negotiated);
  const options = watchOptions(request.info.query);
  let columnsSent = false;
  const encode = ({ type, object }: WatchEvent): Buffer => {
    if (type === "ERROR" || negotiated.form === "object") return frames.frame(type, object);
    const table = { ...tableOptions(dependencies, request.info), withColumns: !columnsSent };
    columnsSent = true;
    const shown = presentation(object as DynamicObject, request.target.resource, negotiated, table);
    return frames.frame(type, shown as object);
  };

  let unwatch = () => {};
  const stream = new WatchStream({
    response,
    encode,
    dropped() {
      unwatch();
      response.destroy();
    },
  });
  unwatch = watch(dependencies, request.target, options, {
    event: (event) => stream.push(event),
    end: () => stream.end(),
  });
  stream.live();
  // Clients wait for the headers to know that the watch is open, long before anything happens.
  response.statusCode = 200;
  response.setHeader("Content-Type", frames.contentType);
  response.flushHeaders();
  request.streaming();
  request.closed().addEventListener("abort", () => {
    unwatch();
    stream.stop();
    response.end();
  });
}

/** More than this breaks clients that expect headers to be short. */
const MOST_WARNED = 4096;
const LONGEST_WARNING = 256;

function sendWarnings(response: Response, texts: readonly string[]): void {
  if (texts.length === 0) return;
  const isTooMuch = texts.reduce((sum, { length }) => sum + length, 0) > MOST_WARNED;
  const headers: string[] = [];
  let size = 0;
  for (const text of texts) {
    const said = isTooMuch ? text.slice(0, LONGEST_WARNING) : text;
    size += said.length;
    if (size > MOST_WARNED) break;
    headers.push(warningHeader(said));
  }
  response.setHeader("Warning", headers);
}

/** A text in quotes as a header can carry it: without line breaks, and in the bytes of UTF-8. */
function warningHeader(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  const line = text.replace(/[\u0000-\u001f\u007f]+/g, " ");
  return Buffer.from(`299 - ${JSON.stringify(line)}`, "utf8").toString("latin1");
}

/** Whether an error is the client's or ours: ours are logged. */
export function isOurFault(error: unknown): boolean {
  return !(error instanceof ApiError) || error.code >= 500;
}
