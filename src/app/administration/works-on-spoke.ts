/** What a cluster itself knows of a work, for those who can reach it: the record of it, and who holds up its end. */
import type { ManagedCluster } from "#api/cluster";
import { Klusterlet, KlusterletCondition } from "#api/operator";
import { AppliedAnnotation, type AppliedManifestWork, type AppliedResource } from "#api/work";
import { recordOf } from "#features/work/agent";
import { type Client, isForbidden, isKubeError, isNotFound, Kinds } from "#kube";
import { systemClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { listed } from "./changes.ts";
import { openSpokes, type SpokeWays } from "./works-spokes.ts";

export interface WorkOnSpoke {
  /** What is wrong with the work agents of the cluster, in words. */
  readonly agent?: string;
  readonly record?: AppliedManifestWork;
  /** What keeps the objects of a work that goes, in words. */
  readonly lingering?: string;
}

const PATIENCE_MS = 10_000;
/** So many are named; mending one often frees others. */
const NAMED_OBJECTS = 3;

/** Undefined where the cluster cannot be reached, or does not let whoever asks look. */
export async function workOnSpoke(
  hub: Client,
  cluster: ManagedCluster,
  name: string,
  ways: SpokeWays,
): Promise<WorkOnSpoke | undefined> {
  const spokes = await openSpokes(hub, ways, systemClock);
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const client = await spokes.reach(cluster, signal);
    if (typeof client === "string") return undefined;
    const known = { server: hub.server, clusterUid: cluster.metadata.uid };
    const record = await recordOf({ client, hub: known, name, signal });
    const agent = await agentTrouble(client);
    const lingering = record && isDeleting(record) ? await lingeringOf(client, record, signal) : undefined;
    return {
      ...(agent !== undefined && { agent }),
      ...(record && { record }),
      ...(lingering !== undefined && { lingering }),
    };
  } catch (error) {
    if (isKubeError(error)) return undefined;
    throw error;
  } finally {
    spokes.close();
  }
}

/** As the operator of the cluster tells it; undefined where all is well, or nobody tells. */
async function agentTrouble(client: Client): Promise<string | undefined> {
  const klusterlets = await listed(client, Klusterlet).catch((error: unknown) => {
    if (isForbidden(error)) return [];
    throw error;
  });
  const degraded = klusterlets.map(({ status }) =>
    findCondition(status?.conditions, KlusterletCondition.WorkDesiredDegraded),
  );
  return degraded.find((condition) => condition?.status === "True")?.message;
}

async function lingeringOf(
  client: Client,
  { status }: AppliedManifestWork,
  signal: AbortSignal,
): Promise<string | undefined> {
  const kinds = new Kinds(client);
  const held: string[] = [];
  for (const resource of (status?.appliedResources ?? []).slice(0, NAMED_OBJECTS)) {
    const finalizers = await finalizersOf(client, kinds, resource, signal);
    if (finalizers.length > 0) held.push(`${wordsFor(resource)} by ${finalizers.join(", ")}`);
  }
  if (held.length === 0) return undefined;
  return `on the cluster finalizers hold ${held.join("; ")}: whoever set them has to take them off, or see what keeps their controller from it`;
}

function wordsFor({ resource, namespace, name }: AppliedResource): string {
  return `${resource} ${namespace ? `${namespace}/` : ""}${name}`;
}

async function finalizersOf(
  client: Client,
  kinds: Kinds,
  resource: AppliedResource,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const kind = await kinds.findResource({ ...resource, group: resource.group ?? "" }, { signal });
  if (!kind) return [];
  const key = resource.namespace ? `${resource.namespace}/${resource.name}` : resource.name;
  try {
    return (await client.get(kind, key, { signal })).metadata.finalizers ?? [];
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return [];
    throw error;
  }
}

/** Why a removal is held, and what lets it go; undefined when none is. */
export function heldIn(
  { metadata }: AppliedManifestWork,
  cluster: string,
): { readonly why: string; readonly next: string } | undefined {
  const held = metadata.annotations?.[AppliedAnnotation.held];
  if (held === undefined) return undefined;
  const [why = "", command] = held.split(". If it is to go nevertheless: ");
  return { why, next: `if it is to go: ${command ?? "confirm it"} --context ${cluster}` };
}
