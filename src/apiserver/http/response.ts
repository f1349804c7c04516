/** Writing answers: headers that every response has, objects in the form asked for, errors as Status. */
import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import { dump as dumpYaml } from "js-yaml";
import { apiVersionOf, type DynamicObject, type Status } from "#api/meta";
import { stringifyJson } from "#lib/json";
import { ApiError, notAcceptable } from "../errors.ts";
import type { Listed } from "../registry/index.ts";
import type { Resource, TableLayout } from "../resource.ts";
import { storedBytes } from "../store/index.ts";
import { encodeProtobuf } from "../types/index.ts";
import { type Negotiated, PROTOBUF } from "./negotiation.ts";
import { JsonBytes, listJson } from "./stored-json.ts";

export type Response = ServerResponse | Http2ServerResponse;

/** Both kinds of response have these; their union as TypeScript sees it can hardly be called. */
interface Writable {
  statusCode: number;
  headersSent: boolean;
  setHeader(name: string, value: string | readonly string[]): unknown;
  getHeader(name: string): unknown;
  write(chunk: string): boolean;
  end(data?: string | Uint8Array): unknown;
}

export function writable(response: Response): Writable {
  return response as unknown as Writable;
}

export function sendText(response: Response, code: number, text: string, headers: Record<string, string> = {}): void {
  send(response, code, text, {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    ...headers,
  });
}

export function send(
  response: Response,
  code: number,
  body: string | Uint8Array,
  headers: Record<string, string>,
): void {
  const out = writable(response);
  out.statusCode = code;
  for (const [name, value] of Object.entries(headers)) out.setHeader(name, value);
  out.setHeader("Content-Length", String(Buffer.byteLength(body)));
  out.end(body);
}

export function sendObject(response: Response, code: number, object: unknown, negotiated: Negotiated): void {
  send(response, code, encoded(object, negotiated), { "Content-Type": negotiated.mediaType });
}

function encoded(object: unknown, { mediaType, pretty }: Negotiated): string | Uint8Array {
  switch (mediaType) {
    case "application/json":
      return object instanceof JsonBytes ? object.bytes : stringifyJson(object, pretty ? 2 : undefined);
    case "application/yaml":
      return dumpYaml(object, { noRefs: true, sortKeys: true, noArrayIndent: true, lineWidth: -1 });
    case PROTOBUF:
      return encodeProtobuf(object as Record<string, unknown>);
  }
}

const PLAIN: Negotiated = { mediaType: "application/json", form: "object", tableVersion: "v1", pretty: false };

export function sendError(response: Response, error: unknown, negotiated: Negotiated = PLAIN): void {
  const known = error instanceof ApiError ? error : undefined;
  const out = writable(response);
  if (out.headersSent) {
    out.end(); // too late for a Status: the stream just ends
    return;
  }
  const status: Status = known?.status ?? {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    reason: "InternalError",
    message: `Internal error occurred: ${error instanceof Error ? error.message : String(error)}`,
    code: 500,
  };
  if (known?.retryAfter !== undefined) out.setHeader("Retry-After", String(known.retryAfter));
  if (status.code === 403) out.setHeader("X-Content-Type-Options", "nosniff");
  sendObject(response, status.code ?? 500, status, { ...negotiated, form: "object" });
}

function isCompactJson({ mediaType, pretty }: Negotiated): boolean {
  return mediaType === "application/json" && !pretty;
}

/** One object in the form asked for. */
export function presentation(
  object: DynamicObject,
  resource: Pick<Resource, "table">,
  negotiated: Negotiated,
  options: TableOptions,
): unknown {
  switch (negotiated.form) {
    case "object":
      return isCompactJson(negotiated) ? new JsonBytes(storedBytes(object)) : object;
    case "metadata":
      return partialMetadata(object, negotiated.tableVersion);
    case "table":
      return tableOf(
        [object],
        { resourceVersion: object.metadata.resourceVersion ?? "" },
        resource.table,
        negotiated,
        options,
      );
  }
}

/** A list in the form asked for. */
export function listPresentation(
  listed: Listed,
  resource: Resource,
  negotiated: Negotiated,
  options: TableOptions,
): unknown {
  const metadata = {
    resourceVersion: String(listed.revision),
    ...(listed.continueToken !== undefined && { continue: listed.continueToken }),
    ...(listed.remaining !== undefined && { remainingItemCount: listed.remaining }),
  };
  switch (negotiated.form) {
    case "table":
      return tableOf(listed.items, metadata, resource.table, negotiated, options);
    case "metadata":
      return {
        kind: "PartialObjectMetadataList",
        apiVersion: `meta.k8s.io/${negotiated.tableVersion}`,
        metadata,
        items: listed.items.map((item) => partialMetadata(item, negotiated.tableVersion)),
      };
    case "object": {
      // Lists of custom kinds always name the token, as real servers do.
      const named = resource.builtin ? metadata : { continue: "", ...metadata };
      if (isCompactJson(negotiated)) return listJson(listed, named, resource);
      return {
        kind: resource.listKind,
        apiVersion: apiVersionOf(resource),
        metadata: named,
        items: resource.builtin ? listed.items.map(withoutType) : listed.items,
      };
    }
  }
}

/** PartialObjectMetadata is the form of one object; asked of a list it is a mistake of the client. */
export function refuseSingleForm(accept: string | undefined): void {
  const first = accept?.split(",")[0] ?? "";
  if (/as=PartialObjectMetadata(;|$)/.test(first.replace(/\s/g, ""))) {
    const error = notAcceptable([]);
    error.status.message = "you requested PartialObjectMetadata, but the requested object is a list";
    throw error;
  }
}

export interface TableOptions {
  readonly includeObject: string;
  readonly now: Date;
  /** Watches name the columns once. */
  readonly withColumns: boolean;
}

function tableOf(
  objects: readonly DynamicObject[],
  metadata: Record<string, unknown>,
  layout: TableLayout,
  { tableVersion }: Negotiated,
  { includeObject, now, withColumns }: TableOptions,
): unknown {
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${tableVersion}`,
    metadata,
    columnDefinitions: withColumns ? layout.columns : [],
    rows: objects.map((object) => ({
      cells: layout.row(object, now),
      object:
        includeObject === "None" ? null : includeObject === "Object" ? object : partialMetadata(object, tableVersion),
    })),
  };
}

function partialMetadata({ metadata }: DynamicObject, version: string): unknown {
  return { kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${version}`, metadata };
}

function withoutType({ apiVersion: _a, kind: _k, ...rest }: DynamicObject): unknown {
  return rest;
}
