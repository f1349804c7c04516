/** Many writes side by side: they share the log's records, and yet never fill the memory all at once. */

/** Does all the work, so many pieces at a time, and answers with what was thrown. */
export async function sideBySide<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<unknown[]> {
  const failures: unknown[] = [];
  const waiting = items.values();
  const lane = async () => {
    for (const item of waiting) {
      try {
        await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  return failures;
}
