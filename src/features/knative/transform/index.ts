/** What a KnativeServing or KnativeEventing wishes, done to the manifests of a release. Pure: all that is read is passed in. */
export { withoutEncryption } from "./encryption.ts";
export { namespaceMetadata } from "./namespace.ts";
export { TransformError } from "./objects.ts";
export { PING_ADAPTER } from "./replicas.ts";
export type { ScopeOf } from "./scope.ts";
export { placed, type TransformOptions, transformed } from "./transform.ts";
