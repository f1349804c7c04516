/**
 * Makes the cluster that a KnativeServing or KnativeEventing means look as it wishes.
 *
 * Key     namespace/name of the KnativeServing or KnativeEventing
 * Reads   KnativeServing or KnativeEventing, ClusterProfile; on the target: all that it has installed
 * Writes  KnativeServing or KnativeEventing: finalizer, status; on the target: everything that is installed
 * Twin    knative/operator:pkg/reconciler/{knativeserving,knativeeventing}
 */
import { KnativeCondition, type KnativeStatus, TargetReason } from "#api/knative";
import { keyOf } from "#api/meta";
import type { Clock } from "#lib/clock";
import { isTrue } from "#lib/conditions";
import { again, type Cluster, type Controller, done, type Outcome, type ReconcileContext, withCleanUp } from "#runtime";
import {
  type Conditions,
  deploymentsAvailable,
  deploymentsNotReady,
  initialized,
  installFailed,
  installSucceeded,
  targetNotResolved,
  targetResolved,
  versionEligible,
  versionNotEligible,
} from "../conditions/index.ts";
import { ReleaseError, type Releases } from "../releases/index.ts";
import { TransformError } from "../transform/index.ts";
import { type Flavour, type Installation, Note, noteOf, profileOf } from "./installation.ts";
import type { Leftovers } from "./leftovers.ts";
import { migrationHindrance } from "./migration.ts";
import { rivalsAmong } from "./rivals.ts";
import { type Installed, Sites } from "./sites.ts";
import { isUnresolved, type Targets, type Unresolved } from "./target.ts";

export interface InstallationOptions<T extends Installation> {
  readonly flavour: Flavour<T>;
  readonly hub: Cluster;
  readonly targets: Targets;
  readonly releases: Releases;
  readonly leftovers: Leftovers;
  /** How often what does not work yet is looked at, should no watch have told of it. */
  readonly pollInterval: number;
  /** The oldest Kubernetes that Knative's programs may accept; theirs unless told. */
  readonly kubernetesMinVersion?: string | undefined;
  /** How long a cluster that cannot be reached holds up a deletion. */
  readonly removalPatience: number;
  readonly clock: Clock;
}

/** Each waits most of the time for another cluster. */
const AT_ONCE = 16;
/** Several times what the largest release takes; a cluster that needs longer is asked again later. */
const LONGEST_MS = 2 * 60_000;
const MOMENT_MS = 1_000;

export function installationController<T extends Installation>(options: InstallationOptions<T>): Controller {
  const { flavour, hub, targets, releases, leftovers, pollInterval, removalPatience, clock } = options;
  const installations = hub.cache(flavour.kind);
  const installationsOn = installations.indexBy(profileOf);
  const rivals = rivalsAmong(installations);
  const sites = new Sites({ flavour, releases, kubernetesMinVersion: options.kubernetesMinVersion, clock });

  return {
    name: flavour.component,
    concurrency: AT_ONCE,
    deadline: LONGEST_MS,
    triggers: [
      installations.keyedBy((installation) => rivals.keysAround(installation)),
      targets.keyedBy((profile) => installationsOn.at(profile).map(keyOf)),
      sites.trigger,
    ],

    async reconcile(key, context) {
      const installation = installations.get(key);
      if (!installation) {
        sites.leave(key);
        return done;
      }
      return withCleanUp({
        cluster: hub,
        kind: flavour.kind,
        object: installation,
        finalizer: flavour.finalizer,
        reconcile: (object) => install(object, context),
        cleanUp: (object) => uninstall(object, context),
      });
    },
  };

  async function install(installation: T, context: ReconcileContext): Promise<Outcome> {
    const now = clock.now();
    const conditions = initialized(installation.status?.conditions, now);
    try {
      const problem = await migrationHindrance(installation, flavour.kind.kind, releases);
      if (problem !== undefined) return say(installation, { conditions: versionNotEligible(conditions, problem, now) });
      return await installOn(installation, versionEligible(conditions, now), context);
    } catch (error) {
      if (!(error instanceof ReleaseError || error instanceof TransformError)) throw error;
      await say(installation, { conditions: installFailed(conditions, error.message, now) });
      return again(pollInterval);
    }
  }

  async function installOn(installation: T, conditions: Conditions, context: ReconcileContext): Promise<Outcome> {
    const now = clock.now();
    const target = await targets.resolve(installation);
    if (isUnresolved(target)) return say(installation, { conditions: targetNotResolved(conditions, target, now) });

    // Where it goes is noted before anything goes there, because whoever deletes it must know where to look.
    const noted = await withNote(installation, Note.cluster, target.identity);
    const resolved = targetResolved(conditions, now);
    const rival = rivals.before(noted);
    if (rival) return say(noted, { conditions: installFailed(resolved, takenBy(rival), now) });
    const installed = await sites.install(noted, target, context);
    const { status, outcome } = judged(noted, installed, resolved);
    if (status) {
      await say(noted, { ...status, manifests: [...installed.paths], annotations: notesAfter(noted, installed) });
    }
    return outcome;
  }

  /** What there is to say of an installation, and whether to look again should nobody tell. */
  function judged(
    { status }: T,
    { hindrance, waitingFor: { names, isMomentary }, version }: Installed,
    conditions: Conditions,
  ): Judgement {
    const now = clock.now();
    if (hindrance !== undefined) {
      return { status: { conditions: installFailed(conditions, hindrance, now) }, outcome: again(pollInterval) };
    }
    // What works is not said to be broken in the moment between a write and the look of whoever carries it out.
    const isWorking = isTrue(conditions, KnativeCondition.deploymentsAvailable) && status?.version === version;
    if (names.length > 0 && isMomentary && isWorking) return { outcome: again(MOMENT_MS) };
    if (names.length > 0) {
      return { status: { conditions: deploymentsNotReady(conditions, names, now) }, outcome: again(pollInterval) };
    }
    const all = installSucceeded(deploymentsAvailable(conditions, now), now);
    return { status: { conditions: all, version }, outcome: done };
  }

  /** Ends when nothing is left, or when it is noted on the hub what is. */
  async function uninstall(installation: T, context: ReconcileContext): Promise<Outcome> {
    const key = keyOf(installation);
    const cluster = noteOf(installation, Note.cluster);
    // Without either nothing was ever put anywhere; with manifests alone another operator has put it there.
    if (cluster === undefined && !installation.status?.manifests?.length) return done;

    const hindrance = await removalFrom(installation, cluster, context);
    if (hindrance === undefined) {
      sites.leave(key);
      return done;
    }
    // Of a cluster that has never answered nothing could be noted by which to know it again.
    if (cluster === undefined) {
      await say(installation, { conditions: awaiting(installation, hindrance) });
      return again(pollInterval);
    }
    const deadline = Date.parse(installation.metadata.deletionTimestamp ?? "") + removalPatience;
    const left = deadline - clock.now().getTime();
    if (left > 0) {
      await say(installation, { conditions: awaiting(installation, hindrance, new Date(deadline)) });
      return again(Math.min(left, pollInterval));
    }
    await leftovers.record({ installation, flavour, cluster });
    context.log.warn("it could not be removed in time; it will be when its cluster returns", {
      cause: hindrance.message,
    });
    sites.leave(key);
    return done;
  }

  async function removalFrom(
    installation: T,
    cluster: string | undefined,
    context: ReconcileContext,
  ): Promise<Unresolved | undefined> {
    const target = await targets.find(installation);
    if (isUnresolved(target)) return target;
    if (cluster !== undefined && target.identity !== cluster) {
      const message = `ClusterProfile ${profileOf(installation)} leads to another cluster than the one it was installed on`;
      return { reason: TargetReason.stale, message };
    }
    const isShared = rivals.hasHeir(installation);
    const hindrance = await sites.remove(installation, target, { isShared, signal: context.signal });
    return hindrance === undefined ? undefined : { reason: TargetReason.stale, message: hindrance };
  }

  function awaiting({ status }: T, { reason, message }: Unresolved, deadline?: Date): Conditions {
    const now = clock.now();
    const end = deadline ? `, and left behind after ${deadline.toISOString()}` : "";
    const wait = `${message}; what is installed there is removed as soon as that ends${end}`;
    return targetNotResolved(initialized(status?.conditions, now), { reason, message: wait }, now);
  }

  async function say(installation: T, said: Partial<Omit<KnativeStatus, "conditions">> & { conditions: Conditions }) {
    const { generation } = installation.metadata;
    const status: KnativeStatus = {
      ...installation.status,
      ...said,
      conditions: [...said.conditions],
      ...(generation !== undefined && { observedGeneration: generation }),
    };
    await hub.commit(flavour.kind, installation, { ...installation, status });
    return done;
  }

  async function withNote(installation: T, note: string, value: string): Promise<T> {
    const { status } = installation;
    if (status?.annotations?.[note] === value) return installation;
    const annotations = { ...status?.annotations, [note]: value };
    return hub.commit(flavour.kind, installation, { ...installation, status: { ...status, annotations } });
  }
}

interface Judgement {
  /** Absent where nothing can be said yet. */
  readonly status?: { readonly conditions: Conditions; readonly version?: string };
  readonly outcome: Outcome;
}

function takenBy(rival: Installation): string {
  const { kind } = rival;
  return `${kind} ${keyOf(rival)} is installed on the same cluster; delete one of the two, and this one takes its place if it stays`;
}

/** The note of finished Jobs goes with the version that they belong to. */
function notesAfter({ status }: Installation, { completedJobs }: Installed): Record<string, string> {
  const { [Note.jobs]: _, ...others } = status?.annotations ?? {};
  return completedJobs.length > 0 ? { ...others, [Note.jobs]: completedJobs.join(",") } : others;
}
