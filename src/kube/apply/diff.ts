/** What changes between two states of an object, field by field, fit to be shown: values of Secrets never are. */
import type { DynamicObject } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { withAnnotations } from "#lib/meta";
import { wishedPart } from "./content.ts";
import type { FieldChange } from "./types.ts";

export interface Difference {
  readonly changes: readonly FieldChange[];
  /** How many are left out. */
  readonly more: number;
}

/** More than a person reads; a definition of a large kind has thousands of fields. */
const MOST_CHANGES = 200;
const LONGEST_VALUE = 1_000;
const MASK = "***";
/** kubectl keeps the whole manifest here, Secrets and all. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** The difference of what is wished of an object. What the server counts and the engine's own notes are left out. */
export function differenceOf(
  before: DynamicObject | undefined,
  after: DynamicObject | undefined,
  noteAnnotation: string,
): Difference {
  const shown = (object: DynamicObject | undefined) =>
    object && wishedPart(withAnnotations(object, { [noteAnnotation]: undefined }));
  const walk = new Walk();
  walk.compare(shown(before ?? bare(after)), shown(after ?? bare(before)), "", false);
  return { changes: walk.changes, more: walk.more };
}

/** An object with nothing but its name, so that what comes into being is told without it. */
function bare(object: DynamicObject | undefined): DynamicObject | undefined {
  if (!object) return undefined;
  const { apiVersion, kind, metadata } = object;
  const { name, namespace } = metadata;
  return { apiVersion, kind, metadata: { name, ...(namespace && { namespace }) } };
}

class Walk {
  readonly changes: FieldChange[] = [];
  more = 0;

  compare(before: unknown, after: unknown, path: string, hidden: boolean): void {
    const objects = pairOf(before, after, isObject);
    const lists = objects ? undefined : pairOf(before, after, isList);
    if (objects) this.#fields(objects[0] ?? {}, objects[1] ?? {}, path, hidden);
    else if (lists) this.#items(lists[0] ?? [], lists[1] ?? [], path, hidden);
    else if (!equal(before, after)) this.#add(before, after, path, hidden);
  }

  #fields(before: Record<string, unknown>, after: Record<string, unknown>, path: string, hidden: boolean): void {
    const secret = isSecret(before) || isSecret(after);
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const conceals = (secret && (key === "data" || key === "stringData")) || key === LAST_APPLIED;
      this.compare(fieldOf(before, key), fieldOf(after, key), `${path}${step(key)}`, hidden || conceals);
    }
  }

  #items(before: readonly unknown[], after: readonly unknown[], path: string, hidden: boolean): void {
    const [left, right] = [byName(before), byName(after)];
    if (left && right) {
      for (const name of new Set([...left.keys(), ...right.keys()])) {
        this.compare(left.get(name), right.get(name), `${path}[name=${name}]`, hidden);
      }
      return;
    }
    for (let index = 0; index < Math.max(before.length, after.length); index++) {
      this.compare(before[index], after[index], `${path}[${index}]`, hidden);
    }
  }

  #add(before: unknown, after: unknown, path: string, hidden: boolean): void {
    if (this.changes.length >= MOST_CHANGES) {
      this.more++;
      return;
    }
    const both = before !== undefined && after !== undefined;
    const show = (value: unknown, side: string) => (hidden ? `${MASK}${both ? ` (${side})` : ""}` : shortened(value));
    this.changes.push({
      path,
      ...(before !== undefined && { before: show(before, "before") }),
      ...(after !== undefined && { after: show(after, "after") }),
    });
  }
}

/** Two values of a sort, or one that comes or goes; with nothing in them they are compared as they are. */
function pairOf<T extends object>(
  before: unknown,
  after: unknown,
  is: (value: unknown) => value is T,
): readonly [T | undefined, T | undefined] | undefined {
  if ((before !== undefined && !is(before)) || (after !== undefined && !is(after))) return undefined;
  const isEmpty = Object.keys(before ?? {}).length === 0 && Object.keys(after ?? {}).length === 0;
  return isEmpty ? undefined : [before, after];
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Items by their names, where all have one of their own. */
function byName(items: readonly unknown[]): ReadonlyMap<string, unknown> | undefined {
  const named = new Map<string, unknown>();
  for (const item of items) {
    if (!isObject(item) || typeof item.name !== "string") return undefined;
    named.set(item.name, item);
  }
  return named.size === items.length ? named : undefined;
}

function isSecret({ kind, apiVersion }: Record<string, unknown>): boolean {
  return kind === "Secret" && apiVersion === "v1";
}

function fieldOf(object: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function step(key: string): string {
  return /^[A-Za-z_][A-Za-z0-9_-]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function shortened(value: unknown): unknown {
  if (typeof value !== "string" || value.length <= LONGEST_VALUE) return value;
  return `${value.slice(0, LONGEST_VALUE)}… (${value.length} characters)`;
}
