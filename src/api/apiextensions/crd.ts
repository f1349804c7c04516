import { apiVersionOf } from "#api/meta";
import type { OpenApiSchema } from "#api/schema";
import {
  type CustomResourceColumn,
  CustomResourceDefinition,
  type CustomResourceDefinitionVersion,
  type CustomResourceNames,
  type CustomResourceScale,
} from "./types.ts";

export interface CrdOptions {
  group: string;
  names: CustomResourceNames;
  scope: "Namespaced" | "Cluster";
  versions: CrdVersionOptions[];
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
}

export interface CrdVersionOptions {
  name: string;
  served: boolean;
  storage: boolean;
  /** The object without what every object has: usually `spec` and `status`. */
  schema: OpenApiSchema;
  /** Whether `/status` is written apart from the rest. */
  status?: boolean;
  scale?: CustomResourceScale;
  columns?: CustomResourceColumn[];
  selectableFields?: string[];
  deprecated?: boolean;
  deprecationWarning?: string;
}

/** What every object has; a schema only names it, the server knows the rest. */
const OBJECT_PROPERTIES: Record<string, OpenApiSchema> = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata: { type: "object" },
};

/** The definition that teaches a cluster a kind of ours. */
export function crd({ group, names, scope, versions, annotations, labels }: CrdOptions): CustomResourceDefinition {
  const singular = names.singular ?? names.kind.toLowerCase();
  const listKind = names.listKind ?? `${names.kind}List`;
  return {
    apiVersion: apiVersionOf(CustomResourceDefinition),
    kind: CustomResourceDefinition.kind,
    metadata: { name: `${names.plural}.${group}`, ...(annotations && { annotations }), ...(labels && { labels }) },
    spec: { group, names: { ...names, singular, listKind }, scope, versions: versions.map(version) },
  };
}

function version(options: CrdVersionOptions): CustomResourceDefinitionVersion {
  const { name, served, storage, schema, status, scale, columns, selectableFields } = options;
  const { deprecated, deprecationWarning } = options;
  return {
    name,
    served,
    storage,
    ...(deprecated && { deprecated }),
    ...(deprecationWarning && { deprecationWarning }),
    schema: { openAPIV3Schema: { ...schema, properties: { ...OBJECT_PROPERTIES, ...schema.properties } } },
    ...((status || scale) && { subresources: { ...(status && { status: {} }), ...(scale && { scale }) } }),
    ...(columns && { additionalPrinterColumns: columns }),
    ...(selectableFields && { selectableFields: selectableFields.map((jsonPath) => ({ jsonPath })) }),
  };
}
