/**
 * One API server: how to reach it (kubeconfigs, in-cluster credentials, credential plugins), a client that reads,
 * writes and watches over one HTTP/2 connection, the errors it throws, caches that follow the objects of a kind, and
 * the engine that makes a cluster look as manifests say.
 */
export * from "./apply/index.ts";
export * from "./cache/index.ts";
export { type ClientOptions, createClient } from "./client.ts";
export * from "./config/index.ts";
export {
  type Credential,
  CredentialHolder,
  type Credentials,
  type HeldCredentials,
  heldCredentials,
  isSameCredential,
} from "./credentials.ts";
export * from "./errors.ts";
export * from "./exec/index.ts";
export { fingerprint } from "./fingerprint.ts";
export { type ClientMetrics, type ClientMetricsOptions, registerClientMetrics } from "./metrics.ts";
export { orAborted } from "./or-aborted.ts";
export type { DirectServer, KeepAlive } from "./transport/index.ts";
export type {
  CallOptions,
  Client,
  DeleteOptions,
  Draft,
  ListOptions,
  PatchOptions,
  PatchType,
  ReadOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "./types.ts";
export { parseYaml, YamlError, yamlText } from "./yaml.ts";
