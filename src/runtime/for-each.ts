/** Enough to hide the way to the server and back, few enough not to flood it. */
const AT_ONCE = 16;

/**
 * Does something for every item, several at a time. All of them are finished, well or not, before it ends; what
 * failed is then thrown together.
 */
export async function forEach<T>(items: Iterable<T>, work: (item: T) => unknown): Promise<void> {
  const all = [...items];
  const failures = new Map<number, unknown>();
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < all.length; at = next++) {
      try {
        await work(all[at] as T);
      } catch (error) {
        failures.set(at, error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, all.length) }, worker));
  if (failures.size === 0) return;
  const inOrder = [...failures].sort(([a], [b]) => a - b).map(([, error]) => error);
  throw new AggregateError(inOrder, `${failures.size} of ${all.length} failed`);
}
