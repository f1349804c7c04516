/** The order of merged lists. */
interface Wishes {
  /** The order that the patch asks for. */
  readonly first: readonly unknown[];
  /** The order in which the elements stood before. */
  readonly before: readonly unknown[];
}

type KeyOf = (element: unknown) => unknown;

/**
 * The elements in order: those that the patch names keep its order, the others the one they had, and the two rows are
 * woven together by where their elements stood before. What is new goes ahead of what was there.
 */
export function inOrder(elements: readonly unknown[], { first, before }: Wishes, keyOf: KeyOf): unknown[] {
  const wished = placesOf(first, keyOf);
  const stood = placesOf(before, keyOf);
  const named = sorted(elements, wished, keyOf).filter((element) => wished.has(keyOf(element)));
  const others = sorted(elements, stood, keyOf).filter((element) => !wished.has(keyOf(element)));

  const woven: unknown[] = [];
  let next = 0;
  for (const element of named) {
    const place = stood.get(keyOf(element)) ?? -1; // a new element waits for nobody
    for (; next < others.length; next++) {
      const other = others[next];
      if ((stood.get(keyOf(other)) ?? Number.POSITIVE_INFINITY) >= place) break;
      woven.push(other);
    }
    woven.push(element);
  }
  return [...woven, ...others.slice(next)];
}

/** Where each key stands first. */
function placesOf(elements: readonly unknown[], keyOf: KeyOf): ReadonlyMap<unknown, number> {
  const places = new Map<unknown, number>();
  for (const [index, element] of elements.entries()) {
    const key = keyOf(element);
    if (!places.has(key)) places.set(key, index);
  }
  return places;
}

function sorted(elements: readonly unknown[], places: ReadonlyMap<unknown, number>, keyOf: KeyOf): unknown[] {
  const placeOf = (element: unknown) => places.get(keyOf(element)) ?? Number.MAX_SAFE_INTEGER;
  return [...elements].sort((a, b) => placeOf(a) - placeOf(b));
}
