/** Looking whether a server is there, whether it is well, and which one it is. */
import { Namespace } from "#api/core";
import { type Client, isForbidden, isKubeError, isNotFound } from "#kube";
import type { Copy } from "./member-cluster.ts";
import { FleetReason, type Unreachable } from "./types.ts";

/** A server that does not answer so small a question by then would not be of use. */
const LONGEST_ANSWER = 10_000;
const LONGEST_READY = 5_000;

/**
 * What tells one API server from another: the uid of the namespace that each has from its first start to its end.
 * Undefined where we may not see it; then the server has shown at least that it is there and knows us.
 */
export async function identityOf(client: Client, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { metadata } = await client.get(Namespace, "kube-system", { timeout: LONGEST_ANSWER, signal });
    return metadata.uid;
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return undefined;
    throw error;
  }
}

/** A stream that is alive, on a connection that is pinged, proves more than a question, and costs nothing. */
export function isFollowing(copies: readonly Copy[]): boolean {
  return copies.some(({ state }) => state === "following");
}

/** Throws unless the server says that it is ready. That it does not let us ask is no sign of illness. */
export async function askWhetherReady(client: Client, signal: AbortSignal): Promise<void> {
  try {
    await client.raw("/readyz", { timeout: LONGEST_READY, signal });
  } catch (error) {
    if (!isForbidden(error) && !isNotFound(error)) throw error;
  }
}

/** What a failed call says about a cluster. */
export function problemOf(error: unknown): Unreachable {
  const message = error instanceof Error ? error.message : String(error);
  return { reason: reasonOf(error), message };
}

function reasonOf(error: unknown): string {
  if (!isKubeError(error)) return FleetReason.unreachable;
  if (error.kind === "credentials") return FleetReason.credentials;
  if (error.code === 401) return FleetReason.unauthorized;
  return error.kind === "status" || error.kind === "malformed" ? FleetReason.unhealthy : FleetReason.unreachable;
}
