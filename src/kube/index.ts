/**
 * One API server: how to reach it (kubeconfigs, in-cluster credentials), a client that reads, writes and watches
 * over one HTTP/2 connection, the errors it throws, and caches that follow the objects of a kind.
 */
export * from "./cache/index.ts";
export { type ClientOptions, createClient } from "./client.ts";
export * from "./config/index.ts";
export * from "./errors.ts";
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
