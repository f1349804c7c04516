/** Definitions of kinds that operators install: which version wrote one, so that an older operator does not undo it. */
import type { CustomResourceDefinition } from "#api/apiextensions";
import type { DynamicObject, KubeObject } from "#api/meta";
import { OperatorAnnotation } from "#api/operator";

/** The API of Open Cluster Management that our definitions agree with. */
const API_LEVEL = "1.3.1";

/** What is noted on definitions: the level of the API comes first, because others write it too, then our own version. */
export function definitionVersion(image: string): string {
  const [, tag] = /:([\w.-]+)(?:@.*)?$/.exec(image) ?? [];
  return tag === undefined ? API_LEVEL : `${API_LEVEL}+capstan.${tag}`;
}

export interface DefinitionOptions {
  /** As `definitionVersion` has it. */
  readonly version: string;
  readonly labels: Readonly<Record<string, string>>;
}

export function stamped(
  { metadata, ...definition }: CustomResourceDefinition,
  { version, labels }: DefinitionOptions,
): DynamicObject {
  const annotations = { ...metadata.annotations, [OperatorAnnotation.version]: version };
  return { ...definition, metadata: { ...metadata, annotations, labels: { ...labels } } } as unknown as DynamicObject;
}

/** Whether a newer operator has written it, which an older one must not undo. */
export function isNewer(live: KubeObject | undefined, version: string): boolean {
  const noted = live?.metadata.annotations?.[OperatorAnnotation.version];
  return noted !== undefined && compareVersions(noted, version) > 0;
}

/** By the numbers in them, one by one; what has none is older than all else, and a candidate is as good as its release. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

function numbersOf(version: string): number[] {
  return (version.replace(/-[^+]*/g, "").match(/\d+/g) ?? []).map(Number);
}
