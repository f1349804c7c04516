/** Why a work is as it is: which of its manifests waits for what, in plain words. */
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import type { Condition } from "#api/meta";
import { type ManifestCondition, ManifestWork, WorkCondition, WorkFinalizer } from "#api/work";
import type { Client } from "#kube";
import { findCondition, isTrue } from "#lib/conditions";
import { hasFinalizer, isDeleting } from "#lib/meta";
import { find } from "./changes.ts";
import { noSuchWork } from "./works.ts";

export interface WorkExplanation {
  /** How it stands, in a sentence. */
  readonly verdict: string;
  readonly isInPlace: boolean;
  readonly manifests: readonly { readonly object: string; readonly isInPlace: boolean; readonly says: string }[];
  /** What to do about it, if somebody has to. */
  readonly next?: string;
}

export async function explainWork(client: Client, name: string, cluster: string): Promise<WorkExplanation> {
  const work = await find(client, ManifestWork, `${cluster}/${name}`);
  if (!work) throw await noSuchWork(client, name, cluster);
  return explanationOf(work, await find(client, ManagedCluster, cluster));
}

export function explanationOf(work: ManifestWork, cluster: ManagedCluster | undefined): WorkExplanation {
  const { status, metadata } = work;
  const place = metadata.namespace ?? "";
  const manifests = (status?.resourceStatus?.manifests ?? []).map(manifestLine);
  const said = (verdict: string, next?: string): WorkExplanation => {
    return { verdict, isInPlace: false, manifests, ...(next !== undefined && { next }) };
  };
  const absence = absenceOf(place, cluster);
  if (isDeleting(work)) {
    if (absence) return said(`It is being deleted, and waits for its cluster: ${absence.why}`, absence.next);
    const deleting = findCondition(status?.conditions, WorkCondition.Deleting);
    return said(deleting?.message ?? "It is being deleted, and its cluster has yet to clean up");
  }
  if (absence) return said(`It waits for its cluster: ${absence.why}`, absence.next);
  const applied = findCondition(status?.conditions, WorkCondition.Applied);
  if (!hasFinalizer(work, WorkFinalizer.work) || !applied) {
    const next = `see how its agent fares with \`capstan doctor --context ${place}\``;
    return said(`The work agent of ${place} has not taken it up yet`, next);
  }
  if (applied.observedGeneration !== undefined && applied.observedGeneration < (metadata.generation ?? 0)) {
    return said("It was changed, and its cluster has yet to report on that");
  }
  if (isTrue(status?.conditions, WorkCondition.Complete)) {
    return { verdict: "It is finished, and is not applied again", isInPlace: true, manifests };
  }
  const waiting = manifests.filter(({ isInPlace }) => !isInPlace).length;
  if (waiting > 0) return said(`${waiting} of its ${manifests.length} manifests are not in place`);
  if (applied.status !== "True") return said(applied.message);
  const all = manifests.length === 1 ? "Its one manifest is" : `All of its ${manifests.length} manifests are`;
  return { verdict: `${all} in place`, isInPlace: true, manifests };
}

/** Why the cluster does nothing at all. */
function absenceOf(
  name: string,
  cluster: ManagedCluster | undefined,
): { readonly why: string; readonly next: string } | undefined {
  if (!cluster) return { why: `there is no ManagedCluster ${name}`, next: "let it join with `capstan join`" };
  if (cluster.spec?.hubAcceptsClient !== true) {
    return { why: `${name} is not accepted`, next: `let it in with \`capstan accept --clusters ${name}\`` };
  }
  const { conditions } = cluster.status ?? {};
  if (!isTrue(conditions, ClusterCondition.Joined)) {
    return { why: `${name} has not joined yet`, next: `see why with \`capstan doctor --context ${name}\`` };
  }
  const available = findCondition(conditions, ClusterCondition.Available);
  if (available?.status === "True") return undefined;
  return {
    why: `${name} has not been heard of since ${available?.lastTransitionTime ?? "it joined"}`,
    next: `see why with \`capstan doctor --context ${name}\`; the work goes on by itself when it is back`,
  };
}

function manifestLine({ resourceMeta, conditions, statusFeedback }: ManifestCondition) {
  const { kind = "object", namespace, name = "", ordinal } = resourceMeta;
  const object = name === "" ? `manifest ${ordinal}` : `${kind} ${namespace ? `${namespace}/` : ""}${name}`;
  const failure = failureIn(conditions);
  if (failure !== undefined) return { object, isInPlace: false, says: failure };
  const values = (statusFeedback?.values ?? []).map(({ name: word, fieldValue }) => {
    const { integer, string, boolean, jsonRaw } = fieldValue;
    return `${word} ${integer ?? string ?? boolean ?? jsonRaw ?? ""}`;
  });
  return { object, isInPlace: true, says: ["in place", ...values].join(", ") };
}

/** The first of its conditions that is not as it should be, in its own words. */
function failureIn(conditions: readonly Condition[]): string | undefined {
  const applied = findCondition(conditions, WorkCondition.Applied);
  if (applied && applied.status !== "True") return withoutPrefix(applied.message);
  const available = findCondition(conditions, WorkCondition.Available);
  if (available && available.status !== "True") return `not there: ${available.message}`;
  const feedback = findCondition(conditions, WorkCondition.StatusFeedbackSynced);
  if (feedback && feedback.status === "False") return withoutPrefix(feedback.message);
  return undefined;
}

function withoutPrefix(message: string): string {
  return message.replace(/^Failed to apply manifest: /, "");
}
