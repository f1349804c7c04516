/**
 * JSON as Kubernetes means it: integers stay exact beyond 2^53, `__proto__` is a key like any other,
 * and equality and copies know only what JSON knows.
 */
export { clone } from "./clone.ts";
export { equal } from "./equal.ts";
export { goEscaped, goJson } from "./go-text.ts";
export { CONTRADICTION, merged } from "./merged.ts";
export { isObject, type Json, type JsonObject, parseJson, stringifyJson } from "./text.ts";
