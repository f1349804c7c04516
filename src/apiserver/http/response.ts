/** Writing answers: headers that every response has, objects in the form asked for, errors as Status. */
import { dump as dumpYaml } from "js-yaml";
import { apiVersionOf, type DynamicObject, type Status } from "#api/meta";
import { stringifyJson } from "#lib/json";
import { ApiError, notAcceptable } from "../errors.ts";
import type { Listed } from "../registry/index.ts";
import type { Resource, TableLayout } from "../resource.ts";
import { storedBytes } from "../store/index.ts";
import { encodeProtobuf } from "../types/index.ts";
import type { Response } from "./messages.ts";
import { type Negotiated, PROTOBUF } from "./negotiation.ts";
import { JsonBytes, listJson } from "./stored-json.ts";

export function sendText(response: Response, code: number, text: string, headers: Record<string, string> = {}): void {
  send(response, code, text, {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    ...headers,
  });
}

type Body = string | Uint8Array | readonly Uint8Array[];

export function send(response: Response, code: number, body: Body, headers: Record<string, string>): void {
  response.statusCode = code;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader("Content-Length", String(lengthOf(body)));
  if (!isInPieces(body)) {
    response.end(body);
    return;
  }
  // Held back until all of them are there, so that they go out as if they were one.
  response.cork();
  for (const piece of body) response.write(piece);
  response.uncork();
  response.end();
}

function lengthOf(body: Body): number {
  return isInPieces(body) ? body.reduce((sum, { length }) => sum + length, 0) : Buffer.byteLength(body);
}

function isInPieces(body: Body): body is readonly Uint8Array[] {
  return Array.isArray(body);
}

export function sendObject(response: Response, code: number, object: unknown, negotiated: Negotiated): void {
  send(response, code, encoded(object, negotiated), { "Content-Type": negotiated.mediaType });
}

function encoded(object: unknown, { mediaType, pretty }: Negotiated): Body {
  switch (mediaType) {
    case "application/json":
      return object instanceof JsonBytes ? object.body : stringifyJson(object, pretty ? 2 : undefined);
    case "application/yaml":
      return dumpYaml(object, { noRefs: true, sortKeys: true, noArrayIndent: true, lineWidth: -1 });
    case PROTOBUF:
      return encodeProtobuf(object as Record<string, unknown>);
  }
}

const PLAIN: Negotiated = { mediaType: "application/json", form: "object", tableVersion: "v1", pretty: false };

export function sendError(response: Response, error: unknown, negotiated: Negotiated = PLAIN): void {
  const known = error instanceof ApiError ? error : undefined;
  if (response.headersSent) {
    response.end(); // too late for a Status: the stream just ends
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
  if (known?.retryAfter !== undefined) response.setHeader("Retry-After", String(known.retryAfter));
  if (status.code === 403) response.setHeader("X-Content-Type-Options", "nosniff");
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
    columnDefinitions: withColumns ? layout.columns : null,
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
