/**
 * One add-on object in the other version. Nothing is lost on the way there and back: what a version has no words for goes
 * along in an annotation, with what it was shown as, and comes back if that was left alone meanwhile. Who changes it in
 * the other version has the last word.
 */
import { ADDON_GROUP, AddOnAnnotation } from "#api/addon";
import type { DynamicObject } from "#api/meta";
import { clone, equal, isObject, parseJson } from "#lib/json";
import { PAIRS, type Pair, type Part } from "./pairs.ts";

const ALPHA = `${ADDON_GROUP}/v1alpha1`;
const BETA = `${ADDON_GROUP}/v1beta1`;

export class NotConvertible extends Error {}

export function toVersion(object: DynamicObject, apiVersion: string): DynamicObject {
  if (object.apiVersion === apiVersion) return object;
  const pairs = PAIRS[object.kind];
  const way = WAYS.find(({ from, to }) => from === object.apiVersion && to === apiVersion);
  if (!pairs || !way) {
    throw new NotConvertible(`${object.kind} in ${object.apiVersion} cannot be converted to ${apiVersion}`);
  }
  const converted: DynamicObject = { ...clone(object), apiVersion };
  const brought = keptIn(object, way.brings);
  const kept = pairs.flatMap((pair) => carried(converted, way.of(pair), brought));
  annotate(converted, way.brings, undefined);
  annotate(converted, way.keeps, kept.length > 0 ? JSON.stringify(Object.fromEntries(kept)) : undefined);
  if (object.kind === "ManagedClusterAddOn") way.installNamespace(converted);
  return converted;
}

/** A pair, as seen by who goes one way. */
interface Passage {
  readonly name: string;
  readonly from: readonly string[];
  readonly to: readonly string[];
  there(part: Part): Part;
  back(part: Part): Part;
}

interface Way {
  readonly from: string;
  readonly to: string;
  /** The annotation with what the version that is left could not say of the other, and that with what it alone can. */
  readonly brings: string;
  readonly keeps: string;
  of(pair: Pair): Passage;
  installNamespace(converted: DynamicObject): void;
}

const WAYS: readonly Way[] = [
  {
    from: ALPHA,
    to: BETA,
    brings: AddOnAnnotation.keptOfV1Beta1,
    keeps: AddOnAnnotation.keptOfV1Alpha1,
    of: ({ alpha, beta, toBeta, toAlpha }) => {
      return { name: alpha.join(), from: alpha, to: beta, there: toBeta, back: toAlpha };
    },
    installNamespace(converted) {
      const { installNamespace, ...spec } = isObject(converted.spec) ? converted.spec : {};
      if (installNamespace === undefined) return;
      converted.spec = spec;
      annotate(converted, AddOnAnnotation.installNamespace, String(installNamespace));
    },
  },
  {
    from: BETA,
    to: ALPHA,
    brings: AddOnAnnotation.keptOfV1Alpha1,
    keeps: AddOnAnnotation.keptOfV1Beta1,
    of: ({ alpha, beta, toBeta, toAlpha }) => {
      return { name: alpha.join(), from: beta, to: alpha, there: toAlpha, back: toBeta };
    },
    installNamespace(converted) {
      const installNamespace = converted.metadata.annotations?.[AddOnAnnotation.installNamespace];
      if (installNamespace === undefined) return;
      converted.spec = { ...(isObject(converted.spec) && converted.spec), installNamespace };
      annotate(converted, AddOnAnnotation.installNamespace, undefined);
    },
  },
];

/** What one version said, and what it was shown as in the other. */
interface Kept {
  readonly is: Part;
  readonly shown: Part;
}

/** Puts the fields of one pair into other words; the answer is what these cannot say. */
function carried(
  object: DynamicObject,
  { name, from, to, there, back }: Passage,
  brought: ReadonlyMap<string, Kept>,
): [name: string, kept: Kept][] {
  const is = taken(object, from);
  const before = brought.get(name);
  const shown = before && equal(before.shown, is) ? before.is : there(is);
  for (const path of to) put(object, path, shown[path]);
  return equal(back(shown), is) ? [] : [[name, { is, shown }]];
}

/** Only what looks as we wrote it: an annotation may be edited by anybody. */
function keptIn({ metadata }: DynamicObject, annotation: string): ReadonlyMap<string, Kept> {
  const text = metadata.annotations?.[annotation];
  const all = text === undefined ? undefined : parsed(text);
  if (!isObject(all)) return new Map();
  return new Map(Object.entries(all).filter((entry): entry is [string, { is: Part; shown: Part }] => isKept(entry[1])));
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function isKept(value: unknown): boolean {
  return isObject(value) && isObject(value.is) && isObject(value.shown);
}

/** Takes the fields out of the object. */
function taken(object: DynamicObject, paths: readonly string[]): Part {
  return Object.fromEntries(
    paths.flatMap((path) => {
      const [section = "", field = ""] = path.split(".");
      const holder = object[section];
      if (!isObject(holder) || holder[field] === undefined) return [];
      const value = holder[field];
      delete holder[field];
      return [[path, value]];
    }),
  );
}

function put(object: DynamicObject, path: string, value: unknown): void {
  if (value === undefined) return;
  const [section = "", field = ""] = path.split(".");
  const holder = object[section];
  object[section] = { ...(isObject(holder) && holder), [field]: clone(value) };
}

function annotate(object: DynamicObject, name: string, value: string | undefined): void {
  const { [name]: _, ...others } = object.metadata.annotations ?? {};
  const annotations = value === undefined ? others : { ...others, [name]: value };
  const { annotations: __, ...metadata } = object.metadata;
  object.metadata = Object.keys(annotations).length > 0 ? { ...metadata, annotations } : metadata;
}
