/** Caches: the objects of a kind, listed once and then kept current by watching. */
export { type CacheOptions, type ChangeListener, createCache, type ObjectCache } from "./cache.ts";
export type { KeptParts, Projection } from "./projection.ts";
export type { ReflectorState, Scope } from "./reflector.ts";
export type { IndexValue, ObjectIndex } from "./store.ts";
