/** What becomes of an AppliedManifestWork whose work the hub does not have: a pure decision, safe in doubt. */
import type { AppliedManifestWork } from "#api/work";
import { type HubSide, isOfHub } from "./applied-work.ts";
import { hubIn, isConfirmed, isEarlier, isHeld, seenIn } from "./provenance.ts";

/** What the hub has just said. */
export interface HubView {
  /** Stands for the hub; undefined when it does not say. */
  readonly identity: string | undefined;
  /** Of the list of works. */
  readonly resourceVersion: string;
  /** How many works it has for the cluster. */
  readonly works: number;
  /** How many of ours it lacks. */
  readonly lacking: number;
}

export interface Patience {
  readonly now: number;
  /** Since when, without a gap, the hub has been seen to lack the work; undefined if only now. */
  readonly since: number | undefined;
  /** Milliseconds. */
  readonly grace: number;
}

export type Fate =
  | { readonly verdict: "remove" }
  | { readonly verdict: "wait"; readonly since: number }
  /** The removal waits for a person. */
  | { readonly verdict: "hold"; readonly why: string }
  | { readonly verdict: "keep" };

/** More works than these do not vanish one by one. */
const HANDFUL = 5;
/** A patience of a hundred years stands for: never. */
const NEVER = 100 * 365 * 24 * 3_600_000;

export function fateOf(applied: AppliedManifestWork, side: HubSide, hub: HubView, patience: Patience): Fate {
  if (isConfirmed(applied)) return { verdict: "remove" };
  if (patience.grace >= NEVER) return { verdict: "keep" };
  // Once in doubt, only a person or the work itself ends it: that others were let go proves nothing of this one.
  if (isHeld(applied)) return { verdict: "keep" };
  const why = doubt(applied, side, hub);
  if (why !== undefined) return { verdict: "hold", why };
  const since = patience.since ?? patience.now;
  return patience.now - since >= patience.grace ? { verdict: "remove" } : { verdict: "wait", since };
}

function doubt(applied: AppliedManifestWork, side: HubSide, hub: HubView): string | undefined {
  if (!isOfHub(applied, side)) return "it was placed by a hub at another address than that of today";
  if (hub.identity === undefined) return "the hub does not tell whether it is the one that placed it";
  const placedBy = hubIn(applied);
  if (placedBy !== undefined && placedBy !== hub.identity) return "another hub placed it than the one that answers now";
  const seen = seenIn(applied);
  if (seen && isEarlier(hub.resourceVersion, seen.resourceVersion)) {
    return "the hub is at an earlier state than when it placed it, as one is that was restored from a backup";
  }
  if (hub.works === 0) return "the hub has not one work for this cluster, which may be a hub that has lost them";
  if (hub.lacking > HANDFUL) return "the hub lacks many works at once, which may be a hub that has lost them";
  return undefined;
}
