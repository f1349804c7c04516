/** Ctrl-C and SIGTERM: the first asks to stop, a later one does not ask. */
export { stopSignal } from "#app/programs";

/** Ends when the signal has fired. */
export function whenFired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
