const MAX_DEPTH = 8;

/** What went wrong and why, in one line: the message, then its causes, then theirs. Stacks are left out. */
export function errorText(error: unknown): string {
  return describe(error, MAX_DEPTH, new Set());
}

function describe(error: unknown, depth: number, seen: Set<unknown>): string {
  if (!(error instanceof Error)) return typeof error === "object" && error !== null ? "[object]" : String(error);
  if (depth === 0 || seen.has(error)) return "…";
  seen.add(error);
  const inner = error instanceof AggregateError ? error.errors : error.cause === undefined ? [] : [error.cause];
  const causes = [...new Set(inner.map((cause) => describe(cause, depth - 1, seen)))];
  const head = error.message || error.name;
  return causes.length === 0 ? head : `${head}: ${causes.join("; ")}`;
}
