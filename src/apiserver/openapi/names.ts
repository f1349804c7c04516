/** What OpenAPI calls a type. Clients know these names, so they are Go's import paths and not ours. */
import type { GroupVersionKind } from "../resource.ts";
import type { StructType } from "../types/index.ts";

const APIMACHINERY = "io.k8s.apimachinery.pkg";

export const SPECIAL_NAMES = {
  Time: `${APIMACHINERY}.apis.meta.v1.Time`,
  MicroTime: `${APIMACHINERY}.apis.meta.v1.MicroTime`,
  FieldsV1: `${APIMACHINERY}.apis.meta.v1.FieldsV1`,
  Quantity: `${APIMACHINERY}.api.resource.Quantity`,
  IntOrString: `${APIMACHINERY}.util.intstr.IntOrString`,
  RawExtension: `${APIMACHINERY}.runtime.RawExtension`,
  JSON: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
  JSONSchemaPropsOrBool: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
  JSONSchemaPropsOrArray: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
  JSONSchemaPropsOrStringArray: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
} as const;

/** The body of a patch: anything. */
export const PATCH = `${APIMACHINERY}.apis.meta.v1.Patch`;

export function structName({ group, version, name }: StructType): string {
  const [first] = group.split(".");
  if (group === "meta.k8s.io") return `${APIMACHINERY}.apis.meta.${version}.${name}`;
  if (group === "apiextensions.k8s.io") return `io.k8s.apiextensions-apiserver.pkg.apis.${first}.${version}.${name}`;
  if (group === "apiregistration.k8s.io") return `io.k8s.kube-aggregator.pkg.apis.${first}.${version}.${name}`;
  return `io.k8s.api.${first || "core"}.${version}.${name}`;
}

/** `com.example.v1.Widget`, with the group turned around as a Java package would have it. */
export function customName({ group, version, kind }: GroupVersionKind): string {
  return [...group.split(".").reverse(), version, kind].join(".");
}

export function refTo(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}
