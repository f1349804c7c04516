/**
 * Several installations may mean one cluster, as when one is to take the place of another. Only one of them stands
 * there, or each would write over the others without end; the rest wait, and the next one inherits what is there.
 */
import { keyOf } from "#api/meta";
import { isDeleting } from "#lib/meta";
import type { Cache } from "#runtime";
import { type Installation, Note, noteOf, profileOf } from "./installation.ts";

export interface Rivals<T extends Installation> {
  /** Itself, and whoever means the same cluster. */
  keysAround(installation: T): readonly string[];
  /** Who stands on the cluster before it. */
  before(installation: T): T | undefined;
  /** Who uses what is there after it. */
  hasHeir(installation: T): boolean;
}

export function rivalsAmong<T extends Installation>(installations: Cache<T>): Rivals<T> {
  const byPlace = installations.indexBy(placesOf);
  const others = (installation: T): readonly T[] => {
    const found = placesOf(installation).flatMap((place) => byPlace.at(place));
    const own = keyOf(installation);
    return [...new Map(found.map((each) => [keyOf(each), each])).values()].filter((each) => keyOf(each) !== own);
  };
  return {
    keysAround: (installation) => [keyOf(installation), ...others(installation).map(keyOf)],
    before: (installation) =>
      others(installation)
        .filter((other) => inOrder(other, installation) < 0)
        .sort(inOrder)[0],
    hasHeir: (installation) => others(installation).some((other) => !isDeleting(other)),
  };
}

/** The profile tells before anything was installed; the cluster's own identity tells also under two profiles. */
function placesOf(installation: Installation): string[] {
  const identity = noteOf(installation, Note.cluster);
  return [`profile ${profileOf(installation) ?? ""}`, ...(identity === undefined ? [] : [`cluster ${identity}`])];
}

/** Whoever is installed comes before who is not, then whoever is older. */
function inOrder(one: Installation, other: Installation): number {
  const rank = (each: Installation): string => {
    const isInstalled = each.status?.version !== undefined;
    return [isInstalled ? 0 : 1, each.metadata.creationTimestamp ?? "", keyOf(each)].join(" ");
  };
  return rank(one) < rank(other) ? -1 : 1;
}
