/**
 * Changes to JSON documents as values: merge patches (RFC 7386), made and applied, and JSON patches (RFC 6902),
 * applied with the leniencies of Kubernetes. Inputs are never changed; results may share unchanged parts with them.
 */
export { PatchError, type PatchFailure } from "./error.ts";
export { applyJsonPatch, type JsonPatchLimits, type JsonPatchOperation, parseJsonPatch } from "./json-patch.ts";
export { applyMergePatch, mergeDiff } from "./merge-patch.ts";
