/**
 * Why a patch is refused. Where kube-apiserver passes on an error of its merge code as it is, that is a 500 without a
 * reason; those are kept, because clients and people know their texts.
 */
import { ApiError, badRequest, plainError } from "../errors.ts";
import { goText, goType } from "./go-text.ts";

type Fields = Record<string, unknown>;

/** The patch is well formed and cannot be applied to this object. */
export function rejected(why: string): ApiError {
  return new ApiError(422, "Invalid", `the server rejected our request due to an error in our request: ${why}`, {});
}

export const badElementOrder = () => badRequest("invalid patch format of setElementOrder list");
export const badPrimitiveList = () => badRequest("invalid patch format of primitive list");
export const badRetainKeys = () => badRequest("invalid patch format of retainKeys");

export function noMergeKey(element: Fields, mergeKey: string): ApiError {
  return plainError(`map: ${goText(element)} does not contain declared merge key: ${mergeKey}`);
}

export function unknownDirective(directive: unknown, patch: Fields): ApiError {
  return plainError(`unknown patch type: ${goText(directive)} in map: ${goText(patch)}`);
}

export function wrongOrder(patch: readonly unknown[], order: readonly unknown[]): ApiError {
  return plainError(
    `The order in patch list:\n${goText(patch)}\n doesn't match $setElementOrder list:\n${goText(order)}\n`,
  );
}

export function mixedElements(...lists: readonly (readonly unknown[])[]): ApiError {
  return plainError(`list element types are not identical: ${goText(lists)}`);
}

export function wrongType(expected: "list" | "object", value: unknown): ApiError {
  const wanted = expected === "list" ? [] : {};
  return plainError(`expected a ${goType(wanted)}, but received a ${goType(value)}`);
}
