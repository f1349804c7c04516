/** npm passes on a Ctrl-C that the terminal has sent already: one wish arrives twice. */
const SAME_WISH_MS = 1000;

/** Fires with the first Ctrl-C or SIGTERM. One that comes later, while things are ending, does not ask any more. */
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
