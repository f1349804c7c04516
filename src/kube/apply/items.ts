/** From wishes to items: with their kinds, in their namespaces, and each only once. */
import type { DynamicObject, Kind } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { type Patience, persist } from "./attempts.ts";
import { groupVersionOf, identityOf, idOf, type ObjectId } from "./identity.ts";
import { type Item, idIn, itemIdentity, kindFromDefinition, Relations } from "./item.ts";
import type { Kinds } from "./kinds.ts";
import { problemOf } from "./manifests/index.ts";
import { eachOf } from "./pool.ts";
import { verdictOf } from "./refusals.ts";
import type { ObjectSet, Strategy, Wish } from "./types.ts";
import type { Verdict } from "./verdict.ts";

export interface Items {
  readonly items: readonly Item[];
  /** Wishes that cannot even be tried. */
  readonly refused: readonly { readonly item: Item; readonly verdict: Verdict }[];
  /** Wishes that repeat another one word for word, and share its fate. */
  readonly copies: readonly { readonly index: number; readonly of: number }[];
}

const SERVER_SIDE: Strategy = { type: "ServerSideApply" };

export async function itemsOf(
  set: ObjectSet,
  parts: { readonly kinds: Kinds; readonly atOnce: number },
  patience: Patience,
): Promise<Items> {
  const refused: { item: Item; verdict: Verdict }[] = [];
  const wellFormed: Item[] = [];
  for (const [index, wish] of set.wishes.entries()) {
    const item = itemOf(wish, index, set);
    const problem = problemOf(wish.object);
    if (problem === undefined) wellFormed.push(item);
    else refused.push({ item, verdict: { action: "refused", reason: "Malformed", message: problem } });
  }

  const served = await servedKinds(wellFormed, parts, patience);
  const relations = new Relations(wellFormed);
  const placed: Item[] = [];
  for (const item of wellFormed) {
    const answer = served.get(typeOf(item.object));
    if (answer?.verdict) refused.push({ item, verdict: answer.verdict });
    else placed.push(inPlace(item, answer?.kind ?? kindToCome(item, relations), set));
  }
  const { items, duplicates, copies } = withoutRepetition(placed);
  return { items, refused: [...refused, ...duplicates], copies };
}

function itemOf(wish: Wish, index: number, set: ObjectSet): Item {
  const { object, source } = wish;
  return {
    index,
    object,
    strategy: wish.strategy ?? set.strategy ?? SERVER_SIDE,
    owner: wish.owner ?? set.owner,
    source,
    id: readableId(object),
    kind: undefined,
  };
}

/** An id for reports even of what is no object. */
function readableId(object: DynamicObject): ObjectId {
  const { apiVersion, kind, metadata }: Record<string, unknown> = isObject(object) ? object : {};
  const name = isObject(metadata) && typeof metadata.name === "string" ? metadata.name : "";
  if (typeof apiVersion === "string" && typeof kind === "string" && name !== "") return idOf(object);
  return {
    ...groupVersionOf(typeof apiVersion === "string" ? apiVersion : ""),
    kind: typeof kind === "string" ? kind : "object",
    name,
  };
}

function typeOf({ apiVersion, kind }: DynamicObject): string {
  return `${apiVersion} ${kind}`;
}

type Answer = { readonly kind?: Kind | undefined; readonly verdict?: Verdict };

async function servedKinds(
  items: readonly Item[],
  { kinds, atOnce }: { readonly kinds: Kinds; readonly atOnce: number },
  patience: Patience,
): Promise<ReadonlyMap<string, Answer>> {
  const types = new Map(items.map(({ object }) => [typeOf(object), object]));
  const answers = new Map<string, Answer>();
  const call = patience.signal ? { signal: patience.signal } : {};
  await eachOf([...types], atOnce, async ([type, object]) => {
    try {
      answers.set(type, { kind: await persist(patience, () => kinds.find(object, call)) });
    } catch (error) {
      answers.set(type, { verdict: verdictOf(error) });
    }
  });
  return answers;
}

/** Where it will be served once the definition that the set brings is in. */
function kindToCome(item: Item, relations: Relations): Kind | undefined {
  const definition = relations.definitionOf(item);
  return definition && kindFromDefinition(definition.object, item.id.version);
}

function inPlace(item: Item, kind: Kind | undefined, { namespace = "default" }: ObjectSet): Item {
  return { ...item, kind, id: idIn(item.object, kind, namespace) };
}

function withoutRepetition(items: readonly Item[]): {
  items: Item[];
  duplicates: { item: Item; verdict: Verdict }[];
  copies: { index: number; of: number }[];
} {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(itemIdentity(item), [...(groups.get(itemIdentity(item)) ?? []), item]);
  const result: ReturnType<typeof withoutRepetition> = { items: [], duplicates: [], copies: [] };
  for (const [first, ...others] of groups.values()) {
    if (!first) continue;
    if (others.every(({ object }) => equal(object, first.object))) {
      result.items.push(first);
      result.copies.push(...others.map(({ index }) => ({ index, of: first.index })));
    } else {
      const verdict = duplicateVerdict([first, ...others]);
      result.duplicates.push(...[first, ...others].map((item) => ({ item, verdict })));
    }
  }
  return result;
}

function duplicateVerdict(items: readonly Item[]): Verdict {
  const sources = items.flatMap(({ source }) => source ?? []);
  const where = sources.length > 0 ? `: ${sources.join("; ")}` : "";
  const message = `it is in the set ${items.length} times with different content${where}`;
  return { action: "refused", reason: "Duplicate", message };
}

/** The objects without those that come again later: the last of each counts. */
export function lastOfEach<T extends { readonly object: DynamicObject }>(manifests: readonly T[]): T[] {
  return [...new Map(manifests.map((manifest) => [identityOf(idOf(manifest.object)), manifest])).values()];
}
