/**
 * OpenAPI v3: an index of group versions, and for each a document with its types and operations. From these
 * kubectl explains and validates, chooses how to patch, and computes strategic merge patches. OpenAPI v2, which
 * kubectl until 1.28 and Helm 3 ask for instead: one document with all of that, as JSON and as protobuf.
 *
 * A document is written when it is first asked for and kept until a resource of its group version changes.
 */
import { createHash } from "node:crypto";
import { stringifyJson } from "#lib/json";
import type { Catalog, Resource } from "../resource.ts";
import { pathsOf } from "./paths.ts";
import { Schemas } from "./schemas.ts";
import { type SwaggerPart, swaggerOf } from "./swagger.ts";
import { encodeSwagger } from "./swagger-protobuf.ts";

/** A document with the hash that names it: SHA-512 in upper-case hexadecimal. The ETag is the hash in quotes. */
export interface Hashed<Body extends string | Uint8Array> {
  readonly body: Body;
  readonly hash: string;
  readonly etag: string;
}

export type HashedText = Hashed<string>;

export type OpenApiAnswer =
  /** `immutable`: the client named the hash, so it may keep the document for good. */
  | { readonly document: HashedText; readonly immutable: boolean }
  /** The client named a hash that is no longer right. */
  | { readonly redirect: string };

export interface OpenApi {
  /** What `/openapi/v3` answers. */
  index(): HashedText;
  /** The document of `api/v1` or `apis/<group>/<version>`, or undefined when that is not served. */
  document(path: string): HashedText | undefined;
  /** What `/openapi/v3/<path>?hash=<hash>` answers. */
  answer(path: string, hash?: string): OpenApiAnswer | undefined;
  /** What `/openapi/v2` answers. */
  swagger(encoding: SwaggerEncoding): Hashed<string | Uint8Array>;
}

export type SwaggerEncoding = "json" | "protobuf";

interface Entry {
  readonly resources: readonly Resource[];
  /** What of the resources the document depends on. */
  readonly fingerprint: string;
  document?: HashedText;
}

export function createOpenApi(catalog: () => Catalog): OpenApi {
  let entries = new Map<string, Entry>();
  let index: HashedText | undefined;
  let swagger = new Map<SwaggerEncoding, Hashed<string | Uint8Array>>();
  let generation: number | undefined;

  function current(): Map<string, Entry> {
    const { generation: latest, resources } = catalog();
    if (latest !== generation) {
      const next = entriesOf(resources, entries);
      const isSame = next.size === entries.size && [...next].every(([path, entry]) => entries.get(path) === entry);
      if (!isSame) {
        index = undefined;
        swagger = new Map();
      }
      entries = next;
      generation = latest;
    }
    return entries;
  }

  function documentOf(entry: Entry): HashedText {
    entry.document ??= documentFrom(entry.resources);
    return entry.document;
  }

  function document(path: string): HashedText | undefined {
    const entry = current().get(path);
    return entry && documentOf(entry);
  }

  return {
    index() {
      const known = current();
      index ??= hashed(
        stringifyJson({
          paths: Object.fromEntries(
            [...known].map(([path, entry]) => [path, { serverRelativeURL: urlOf(path, documentOf(entry)) }]),
          ),
        }),
      );
      return index;
    },
    document,
    answer(path, hash) {
      const found = document(path);
      if (!found) return undefined;
      if (hash !== undefined && hash !== "" && hash !== found.hash) return { redirect: urlOf(path, found) };
      return { document: found, immutable: hash === found.hash };
    },
    swagger(encoding) {
      const parts = current();
      const known = swagger.get(encoding);
      if (known) return known;
      const document = swaggerOf([...parts.values()].map(({ resources }) => partFrom(resources)));
      const made = hashed(encoding === "json" ? stringifyJson(document) : encodeSwagger(document));
      swagger.set(encoding, made);
      return made;
    },
  };
}

/** The group versions of the catalog, by path; those that did not change are the ones we had. */
function entriesOf(resources: readonly Resource[], before: ReadonlyMap<string, Entry>): Map<string, Entry> {
  const grouped = new Map<string, Resource[]>();
  for (const resource of resources) {
    const path = resource.group ? `apis/${resource.group}/${resource.version}` : `api/${resource.version}`;
    const known = grouped.get(path);
    if (known) known.push(resource);
    else grouped.set(path, [resource]);
  }
  const sorted = [...grouped].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(sorted.map(([path, served]) => [path, entryOf(served, before.get(path))]));
}

function entryOf(resources: readonly Resource[], before: Entry | undefined): Entry {
  if (before && isSameList(before.resources, resources)) return before;
  const fingerprint = fingerprintOf(resources);
  return before?.fingerprint === fingerprint ? before : { resources, fingerprint };
}

function isSameList(a: readonly Resource[], b: readonly Resource[]): boolean {
  return a.length === b.length && a.every((resource, at) => resource === b[at]);
}

function fingerprintOf(resources: readonly Resource[]): string {
  return stringifyJson(
    resources.map(({ kind, listKind, plural, namespaced, verbs, builtin, subresources, schema }) => [
      [kind, listKind, plural, namespaced, verbs, builtin, schema],
      subresources.map(({ name, responseKind, verbs }) => [name, responseKind, verbs]),
    ]),
  );
}

function documentFrom(resources: readonly Resource[]): HashedText {
  const { paths, schemas } = partFrom(resources);
  return hashed(
    stringifyJson({
      openapi: "3.0.0",
      info: { title: "Kubernetes", version: "unversioned" },
      paths,
      components: { schemas },
    }),
  );
}

function partFrom(resources: readonly Resource[]): SwaggerPart {
  const [{ group, version } = { group: "", version: "" }] = resources;
  const schemas = new Schemas({ group, version });
  const paths = pathsOf(resources, schemas); // first, because it asks for the schemas
  return { paths, schemas: schemas.all() };
}

function hashed<Body extends string | Uint8Array>(body: Body): Hashed<Body> {
  const hash = createHash("sha512").update(body).digest("hex").toUpperCase();
  return { body, hash, etag: `"${hash}"` };
}

function urlOf(path: string, { hash }: HashedText): string {
  return `/openapi/v3/${path}?hash=${hash}`;
}
