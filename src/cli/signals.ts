/** Ctrl-C and SIGTERM: the first asks to stop, the second does not ask. */

export function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (stopping.signal.aborted) process.exit(130);
      stopping.abort();
    });
  }
  return stopping.signal;
}
