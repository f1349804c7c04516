/** Why the server did not create what a workload asked for. */
import { ApiError } from "../../errors.ts";

/** Nothing can be created in a namespace that is being deleted, and nothing has to. */
export function isForEndingNamespace(error: unknown): boolean {
  const causes = error instanceof ApiError ? error.status.details?.causes : undefined;
  return causes?.some(({ reason }) => reason === "NamespaceTerminating") ?? false;
}

export function isTaken(error: unknown): boolean {
  return error instanceof ApiError && error.status.reason === "AlreadyExists";
}

/** Does the work; that its namespace is being deleted in the meantime is no failure. */
export async function unlessEnding<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isForEndingNamespace(error)) return undefined;
    throw error;
  }
}
