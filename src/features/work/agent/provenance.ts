/**
 * Where an AppliedManifestWork comes from: which hub placed it, and which state of the work it was last brought in line
 * with. A hub that was restored from a backup, or built anew, shows by it that it knows less than it did.
 */
import {
  AppliedAnnotation,
  AppliedLabel,
  type AppliedManifestWork,
  type ManifestWork,
  REMOVAL_CONFIRMED,
} from "#api/work";
import { isObject, parseJson } from "#lib/json";
import { withLabels } from "#lib/meta";

/** A state of a work, as its hub had it. */
export interface Seen {
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
}

function stateOf({ metadata }: ManifestWork): Seen {
  const { uid = "", generation = 0, resourceVersion = "" } = metadata;
  return { uid, generation, resourceVersion };
}

/** Undefined for what another agent has made, or somebody has changed. */
export function seenIn({ metadata }: AppliedManifestWork): Seen | undefined {
  const text = metadata.annotations?.[AppliedAnnotation.seen];
  if (text === undefined) return undefined;
  try {
    const seen = parseJson(text);
    if (!isObject(seen)) return undefined;
    const { uid, generation, resourceVersion } = seen;
    if (typeof uid !== "string" || typeof generation !== "number" || typeof resourceVersion !== "string")
      return undefined;
    return { uid, generation, resourceVersion };
  } catch {
    return undefined;
  }
}

export function hubIn({ metadata }: AppliedManifestWork): string | undefined {
  return metadata.annotations?.[AppliedAnnotation.hub];
}

export function isHeld({ metadata }: AppliedManifestWork): boolean {
  return metadata.annotations?.[AppliedAnnotation.held] !== undefined;
}

export function isConfirmed({ metadata }: AppliedManifestWork): boolean {
  return metadata.annotations?.[AppliedAnnotation.removal] === REMOVAL_CONFIRMED;
}

/** Why a work is not the later state of what was seen before; undefined when it is, or nothing is known. */
export function regression(applied: AppliedManifestWork, work: ManifestWork): string | undefined {
  const before = seenIn(applied);
  const now = stateOf(work);
  if (!before) return undefined;
  if (before.uid !== now.uid) return "the hub has another work of this name than the one that placed it";
  if (now.generation < before.generation || isEarlier(now.resourceVersion, before.resourceVersion)) {
    return "the hub shows an older state of the work than before, as one does that was restored from a backup";
  }
  return undefined;
}

/** Whether a hub was at an earlier point; what cannot be compared is not. */
export function isEarlier(resourceVersion: string, than: string): boolean {
  const [now, before] = [resourceVersion, than].map((each) => (/^\d+$/.test(each) ? BigInt(each) : undefined));
  return now !== undefined && before !== undefined && now < before;
}

/** Of one that is made for the work. */
export function firstMarks(work: ManifestWork, hub: string | undefined): Record<string, string> {
  return {
    [AppliedAnnotation.seen]: JSON.stringify(stateOf(work)),
    ...(hub !== undefined && { [AppliedAnnotation.hub]: hub }),
  };
}

/** Notes the state of the work; a new version alone is no news, because our own reports make one. */
export function withSeen(
  applied: AppliedManifestWork,
  work: ManifestWork,
  hub: string | undefined,
): AppliedManifestWork {
  const before = seenIn(applied);
  const now = stateOf(work);
  const isKnown = before && before.uid === now.uid && before.generation === now.generation;
  return annotated(applied, {
    // What was about to come has been listed by now.
    ...(!isKnown && { [AppliedAnnotation.seen]: JSON.stringify(now), [AppliedAnnotation.coming]: undefined }),
    ...(hub !== undefined && { [AppliedAnnotation.hub]: hub }),
  });
}

/** With and, where undefined, without annotations. */
export function annotated(
  applied: AppliedManifestWork,
  changes: Readonly<Record<string, string | undefined>>,
): AppliedManifestWork {
  const entries = Object.entries({ ...applied.metadata.annotations, ...changes });
  const annotations = Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
  const { annotations: _, ...metadata } = applied.metadata;
  return {
    ...applied,
    metadata: { ...metadata, ...(Object.keys(annotations).length > 0 && { annotations }) },
  };
}

/** With a sentence that says why something of it is not removed. */
export function withHeld(applied: AppliedManifestWork, note: string): AppliedManifestWork {
  return withLabels(annotated(applied, { [AppliedAnnotation.held]: note }), { [AppliedLabel.held]: "true" });
}

/** Without what was said while something was held. */
export function unheld(applied: AppliedManifestWork): AppliedManifestWork {
  const unsaid = { [AppliedAnnotation.held]: undefined, [AppliedAnnotation.removal]: undefined };
  return withLabels(annotated(applied, unsaid), { [AppliedLabel.held]: undefined });
}

/** The sentence for whoever finds something held. */
export function holding(applied: AppliedManifestWork, why: string): string {
  const command = `kubectl annotate appliedmanifestwork ${applied.metadata.name} ${AppliedAnnotation.removal}=${REMOVAL_CONFIRMED}`;
  return `Nothing is removed, because ${why}. If it is to go nevertheless: ${command}`;
}
