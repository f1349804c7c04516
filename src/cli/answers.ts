/** Whether a program's server is there at all. */
import type { Client } from "#kube";

/** Throws when the server cannot be reached: better told at once than tried for ever. False when asked to stop. */
export async function answers(client: Client, signal: AbortSignal): Promise<boolean> {
  try {
    await client.raw("/readyz", { signal });
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}
