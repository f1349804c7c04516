/** Ctrl-C and SIGTERM: the first asks to stop, a later one does not ask. */

/** npm passes on a Ctrl-C that the terminal has sent already: one wish arrives twice. */
const SAME_WISH_MS = 1000;

/** Ends when the signal has fired. */
export function whenFired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

export function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  let asked = 0;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (!stopping.signal.aborted) {
        asked = Date.now();
        stopping.abort();
      } else if (Date.now() - asked > SAME_WISH_MS) process.exit(130);
    });
  }
  return stopping.signal;
}
