/** Kinds and writes for tests. */
import type { DynamicObject, ManagedFieldsEntry } from "#api/meta";
import type { OpenApiSchema } from "#api/schema";
import { type Applied, applyConfiguration } from "../apply-configuration.ts";
import { type PathSet, pathSet } from "../path-set.ts";
import type { Versions, Write } from "../take-over.ts";
import { trackUpdate } from "../track-update.ts";
import { builtinVersion, customVersions } from "../versions.ts";

export const NOW = new Date("2030-01-01T00:00:00Z");

export const configMaps = builtinVersion({ apiVersion: "v1", kind: "ConfigMap", typeKey: "core/v1#ConfigMap" });
export const pods = builtinVersion({ apiVersion: "v1", kind: "Pod", typeKey: "core/v1#Pod" });

/** A custom kind with a list of every sort. */
export const THING: OpenApiSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        n: { type: "integer" },
        text: { type: "string" },
        whole: { type: "array", items: { type: "string" } },
        set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
        items: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name", "protocol"],
          items: {
            type: "object",
            properties: {
              name: { type: "string" },
              protocol: { type: "string", default: "TCP" },
              v: { type: "integer" },
            },
          },
        },
        one: { type: "object", "x-kubernetes-map-type": "atomic", additionalProperties: { type: "string" } },
        map: { type: "object", additionalProperties: { type: "string" } },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    },
    status: { type: "object", properties: { n: { type: "integer" } } },
  },
};

export const things: Versions = customVersions("Thing", [
  { apiVersion: "x.io/v1", schema: THING },
  { apiVersion: "x.io/v2", schema: THING },
]);

export function thing(spec?: Record<string, unknown>, more: Record<string, unknown> = {}): DynamicObject {
  return {
    apiVersion: "x.io/v1",
    kind: "Thing",
    metadata: { name: "t" },
    ...(spec && { spec }),
    ...more,
  } as unknown as DynamicObject;
}

/** An object in a world of its own: what several managers do to it, one after the other. */
export class Subject {
  object: DynamicObject | undefined;
  readonly #versions: Versions;
  readonly #apiVersion: string;
  now = NOW;

  constructor(versions: Versions = things, apiVersion = "x.io/v1") {
    this.#versions = versions;
    this.#apiVersion = apiVersion;
  }

  write(
    manager: string,
    { ignored = pathSet(), subresource = "" }: { ignored?: PathSet; subresource?: string } = {},
  ): Write {
    return { manager, apiVersion: this.#apiVersion, subresource, now: this.now, versions: this.#versions, ignored };
  }

  apply(manager: string, config: DynamicObject, options: { force?: boolean; as?: Partial<Write> } = {}): this {
    const { force = false, as } = options;
    const application = { ...this.write(manager), ...as, force };
    const { object, managedFields }: Applied = applyConfiguration(application, this.object, config);
    return this.#store(object, managedFields);
  }

  /** Puts the object as it is given; `undefined` for managedFields leaves them to the server. */
  put(manager: string, after: DynamicObject, options: { requested?: unknown; as?: Partial<Write> } = {}): this {
    const { requested, as } = options;
    const write = { ...this.write(manager), ...as };
    return this.#store(after, trackUpdate(write, { before: this.object, after, requested }));
  }

  /** By manager, operation and, if there is one, subresource. */
  get owners(): Record<string, unknown> {
    const entries = this.entries.map(({ manager, operation, subresource, fieldsV1 }) => {
      return [`${manager} ${operation}${subresource ? ` ${subresource}` : ""}`, fieldsV1] as const;
    });
    return Object.fromEntries(entries);
  }

  get entries(): ManagedFieldsEntry[] {
    return this.object?.metadata.managedFields ?? [];
  }

  get spec(): unknown {
    return this.object?.spec;
  }

  #store(object: DynamicObject, managedFields: ManagedFieldsEntry[] | undefined): this {
    const { managedFields: _, ...metadata } = object.metadata;
    this.object = { ...object, metadata: { ...metadata, ...(managedFields && { managedFields }) } };
    return this;
  }
}
