/** A copy that shares nothing with its original. */
export function clone<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(clone) as T;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const inner = clone((value as Record<string, unknown>)[key]);
    if (key === "__proto__") Object.defineProperty(copy, key, { value: inner, ...plain });
    else copy[key] = inner;
  }
  return copy as T;
}

/** How an ordinary property is defined: assigning to `__proto__` would change the prototype instead. */
const plain = { enumerable: true, configurable: true, writable: true } as const;
