/** What a reconcile has to say, in the words that upstream's users look for. */
import { KnativeCondition, KnativeReason, type TargetReason } from "#api/knative";
import { findCondition } from "#lib/conditions";
import { type Conditions, withFalse, withTrue } from "./algebra.ts";

export function versionEligible(conditions: Conditions, now: Date): Conditions {
  return withTrue(conditions, KnativeCondition.versionMigrationEligible, now);
}

export function versionNotEligible(conditions: Conditions, why: string, now: Date): Conditions {
  const message = `Version migration is not eligible with message: ${why}`;
  return withFalse(
    conditions,
    KnativeCondition.versionMigrationEligible,
    { reason: KnativeReason.error, message },
    now,
  );
}

export function targetResolved(conditions: Conditions, now: Date): Conditions {
  return withTrue(conditions, KnativeCondition.targetClusterResolved, now);
}

/** Touches nothing of the installation: what was installed is still there, though nobody can see it. */
export function targetNotResolved(
  conditions: Conditions,
  failure: { readonly reason: TargetReason; readonly message: string },
  now: Date,
): Conditions {
  return withFalse(conditions, KnativeCondition.targetClusterResolved, failure, now);
}

export function installFailed(conditions: Conditions, why: string, now: Date): Conditions {
  const message = `Install failed with message: ${why}`;
  return withFalse(conditions, KnativeCondition.installSucceeded, { reason: KnativeReason.error, message }, now);
}

/** Nobody but extensions speaks of dependencies; if nobody has spoken, they are taken for installed. */
export function installSucceeded(conditions: Conditions, now: Date): Conditions {
  const next = withTrue(conditions, KnativeCondition.installSucceeded, now);
  const dependencies = findCondition(next, KnativeCondition.dependenciesInstalled);
  return dependencies?.status === "Unknown" ? withTrue(next, KnativeCondition.dependenciesInstalled, now) : next;
}

export function deploymentsAvailable(conditions: Conditions, now: Date): Conditions {
  return withTrue(conditions, KnativeCondition.deploymentsAvailable, now);
}

/** The names are sorted, so that the message stays the same while the same ones are waited for. */
export function deploymentsNotReady(conditions: Conditions, names: readonly string[], now: Date): Conditions {
  const message = `Waiting on deployments: ${[...names].sort().join(", ")}`;
  return withFalse(conditions, KnativeCondition.deploymentsAvailable, { reason: KnativeReason.notReady, message }, now);
}
