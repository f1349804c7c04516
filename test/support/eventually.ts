/** Waiting for a condition, and never for a time. */

/** Far more than anything takes on a quiet machine; a busy one needs more, and a condition that is met costs none of it. */
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 20;

/** What `look` returns once it stops throwing; its last error if that takes too long. */
export async function eventually<T>(look: () => T | Promise<T>, patienceMs = PATIENCE_MS): Promise<T> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }
}
