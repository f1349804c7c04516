/**
 * Patches as clients send them: from the decoded body of a PATCH to a function that changes an object. Strategic merge
 * patches are understood here, by the type table; JSON and merge patches are those of `#lib/patch`, refused in the
 * words of an API server.
 */
export { type DocumentPatch, patcher, resultRefusal } from "./patcher.ts";
export { strategicMerge } from "./strategic-merge.ts";
