/** Why a work is as it is: which of its manifests waits for what, in plain words. */
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import { type AppliedManifestWork, ManifestWork, WorkCondition, WorkFinalizer } from "#api/work";
import { type Client, isForbidden } from "#kube";
import { findCondition, isTrue } from "#lib/conditions";
import { hasFinalizer, isDeleting } from "#lib/meta";
import { find, listed } from "./changes.ts";
import { noSuchWork } from "./works.ts";
import { heldIn, type WorkOnSpoke, workOnSpoke } from "./works-on-spoke.ts";
import type { SpokeWays } from "./works-spokes.ts";
import { type ManifestWords, wordsOf } from "./works-words.ts";

export interface WorkExplanation {
  /** How it stands, in a sentence. */
  readonly verdict: string;
  readonly isInPlace: boolean;
  readonly manifests: readonly ManifestWords[];
  /** What to do about it, if somebody has to. */
  readonly next?: string;
}

/** As the hub knows it, and where the cluster can be reached, as that does. */
export async function explainWork(
  client: Client,
  name: string,
  cluster: string,
  ways: SpokeWays,
): Promise<WorkExplanation> {
  const work = await find(client, ManifestWork, `${cluster}/${name}`);
  const managed = await find(client, ManagedCluster, cluster);
  const seen = managed ? await workOnSpoke(client, managed, name, ways) : undefined;
  if (work) return explanationOf(work, managed, seen);
  const lost = seen?.record && lostWork(seen.record, cluster);
  if (lost) return lost;
  throw await noSuchWork(client, name, cluster);
}

/** How each of the works stands, in a few words, as far as the hub knows. */
export async function statesOf(client: Client, works: readonly ManifestWork[]): Promise<string[]> {
  const clusters = await listed(client, ManagedCluster).catch((error: unknown) => {
    if (isForbidden(error)) return undefined; // whoever may see works need not be allowed to see clusters
    throw error;
  });
  const byName = new Map(clusters?.map((cluster) => [cluster.metadata.name, cluster]));
  return works.map((work) => {
    const cluster = clusters === undefined ? AVAILABLE : byName.get(work.metadata.namespace ?? "");
    return explanationOf(work, cluster).verdict;
  });
}

/** Stands for a cluster of which nobody says that it is not well. */
const AVAILABLE: ManagedCluster = {
  apiVersion: "cluster.open-cluster-management.io/v1",
  kind: "ManagedCluster",
  metadata: { name: "" },
  spec: { hubAcceptsClient: true },
  status: {
    conditions: [ClusterCondition.Joined, ClusterCondition.Available].map((type) => {
      return { type, status: "True", reason: "Unseen", message: "", lastTransitionTime: "" };
    }),
  },
};

/** The hub does not have the work, but the cluster has what it brought. */
function lostWork(record: AppliedManifestWork, cluster: string): WorkExplanation {
  const held = heldIn(record, cluster);
  if (held) {
    const verdict = `The hub has no such work, but ${cluster} has what it brought. ${held.why}`;
    return { verdict, isInPlace: false, manifests: [], next: held.next };
  }
  const since = record.status?.evictionStartTime;
  const when = since === undefined ? "" : `; it was first missed at ${since}`;
  const verdict = isDeleting(record)
    ? `The hub has no such work, and ${cluster} is removing what it brought`
    : `The hub has no such work, but ${cluster} has what it brought, and removes it when the hub has lacked it for the grace period${when}`;
  return { verdict, isInPlace: false, manifests: [] };
}

export function explanationOf(
  work: ManifestWork,
  cluster: ManagedCluster | undefined,
  seen?: WorkOnSpoke,
): WorkExplanation {
  const { status, metadata, spec } = work;
  const place = metadata.namespace ?? "";
  const { namespace, name } = spec?.executor?.subject?.serviceAccount ?? {};
  const circumstances = { cluster: place, executor: name === undefined ? undefined : `${namespace}/${name}` };
  const manifests = (status?.resourceStatus?.manifests ?? []).map((manifest) => wordsOf(manifest, circumstances));
  const said = (verdict: string, next?: string): WorkExplanation => {
    return { verdict, isInPlace: false, manifests, ...(next !== undefined && { next }) };
  };
  const absence = absenceOf(place, cluster);
  if (isDeleting(work)) return endOf(work, absence, seen);
  if (absence) return said(`It waits for its cluster: ${absence.why}`, absence.next);
  const applied = findCondition(status?.conditions, WorkCondition.Applied);
  const trouble = seen?.agent === undefined ? "" : `: ${seen.agent}`;
  const doctor = `see how its agent fares with \`capstan doctor --context ${place}\``;
  if (!hasFinalizer(work, WorkFinalizer.work) || !applied) {
    return said(`The work agent of ${place} has not taken it up yet${trouble}`, doctor);
  }
  if (applied.observedGeneration !== undefined && applied.observedGeneration < (metadata.generation ?? 0)) {
    return said(`It was changed, and its cluster has yet to report on that${trouble}`, `if that lasts, ${doctor}`);
  }
  const held = seen?.record && heldIn(seen.record, place);
  if (held) return said(`What has left it is still on ${place}. ${held.why}`, held.next);
  if (isTrue(status?.conditions, WorkCondition.Complete)) {
    return { verdict: "It is finished, and is not applied again", isInPlace: true, manifests };
  }
  const waiting = manifests.filter(({ isInPlace }) => !isInPlace).length;
  if (waiting > 0) return said(`${waiting} of its ${manifests.length} manifests are not in place`);
  if (applied.status !== "True") return said(applied.message.replace(/^Failed to apply manifest work: /, ""));
  const all = manifests.length === 1 ? "Its one manifest is" : `All of its ${manifests.length} manifests are`;
  const flawed = manifests.filter(({ isFlawed }) => isFlawed).length;
  const but = flawed === 0 ? "" : `, but ${flawed} ${flawed === 1 ? "is" : "are"} not as wished`;
  if (seen?.agent === undefined) return { verdict: `${all} in place${but}`, isInPlace: true, manifests };
  const verdict = `${all} in place${but}, but nobody keeps it so${trouble}`;
  return { verdict, isInPlace: true, manifests, next: doctor };
}

/** What was said of its manifests before it began to go counts no more. */
function endOf({ metadata, status }: ManifestWork, absence: Absence | undefined, seen?: WorkOnSpoke): WorkExplanation {
  const place = metadata.namespace ?? "";
  const ending = { isInPlace: false, manifests: [] };
  if (absence) {
    const next = `${absence.next}; to give up what it brought there: capstan delete work ${metadata.name} -c ${place} --force`;
    return { ...ending, verdict: `It is being deleted, and waits for its cluster: ${absence.why}`, next };
  }
  const deleting = findCondition(status?.conditions, WorkCondition.Deleting);
  const verdict = deleting?.message ?? "It is being deleted, and its cluster has yet to clean up";
  const next = seen?.lingering ?? lookAtFirst(verdict, place);
  return { ...ending, verdict, ...(next !== undefined && { next }) };
}

/** Where the cluster cannot be asked who holds an object, whoever asks can. */
function lookAtFirst(verdict: string, cluster: string): string | undefined {
  const [, resource = "", place = ""] = /on the cluster (\S+) ([^\s,]+)/.exec(verdict) ?? [];
  if (resource === "") return undefined;
  const [name = "", namespace] = place.split("/").reverse();
  const where = namespace === undefined ? "" : ` -n ${namespace}`;
  return `see whose finalizers hold it with \`kubectl get ${resource} ${name}${where} -o jsonpath={.metadata.finalizers} --context ${cluster}\`; whoever set them has to take them off`;
}

interface Absence {
  readonly why: string;
  readonly next: string;
}

/** Why the cluster does nothing at all. */
function absenceOf(name: string, cluster: ManagedCluster | undefined): Absence | undefined {
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
