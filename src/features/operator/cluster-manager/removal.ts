/**
 * The end of a hub, in an order in which everybody can still clear up after themselves: works go while the agents of
 * their clusters can see it, clusters while the registration controller runs, then what asks the webhooks, then the
 * programs, then what was made for clusters, then the programs' rights and namespace. What is left on purpose is told
 * in the README of this folder.
 *
 * Each step is safe to take again, and none is begun before the one before it is over.
 */
import { MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from "#api/admissionregistration";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { type DynamicObject, type Kind, type KubeObject, kind } from "#api/meta";
import { OperatorAnnotation, OperatorLabel } from "#api/operator";
import { hashAnnotationOf, isNotFound, isUnknownKind } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { isDeleting } from "#lib/meta";
import { type Cache, type Cluster, forEach } from "#runtime";
import { hindrancesIn, type Site, sentenceOf } from "../kit/index.ts";
import { FIRST_TO_GO, KNATIVE_DEFINITIONS, NEXT_TO_GO } from "./definitions.ts";
import { FIELD_MANAGER } from "./names.ts";
import { namespacesLeft, removeClusterRemains } from "./remains.ts";

export interface RemovalOptions {
  readonly cluster: Cluster;
  readonly site: Site;
  /** All definitions of the cluster, by their metadata. */
  readonly definitions: Cache<CustomResourceDefinition>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds after which objects that wait for somebody lose their finalizers. */
  readonly patience: number;
  readonly signal: AbortSignal;
}

/** The answer is what is waited for; undefined when nothing is left to do. */
export async function removeHub(options: RemovalOptions): Promise<string | undefined> {
  const { site, signal } = options;
  site.rest(); // nothing is mended any more
  // To remove a finalizer is to write: where nobody answers any more, nothing could go.
  if (await isMute(options)) await askNobody(options);
  for (const definition of FIRST_TO_GO) {
    const waiting = await wiped(definition, options);
    if (waiting !== undefined) return waiting;
  }
  const others = await Promise.all(NEXT_TO_GO.map((definition) => wiped(definition, options)));
  const waiting = others.find((each) => each !== undefined) ?? (await withoutKnative(options));
  if (waiting !== undefined) return waiting;

  await askNobody(options);
  const programs = await endPrograms(options);
  if (programs !== undefined) return programs;
  await removeClusterRemains(options);
  const report = await site.remove({ signal });
  const hindrances = hindrancesIn(report);
  if (hindrances.length > 0) return `Waiting for the rest of the hub to go: ${sentenceOf(hindrances)}`;
  await disowned(options);
  return namespacesLeft(options);
}

/** Deletes a definition that is ours, and with it all its objects; the answer is what is waited for. */
async function wiped(definition: CustomResourceDefinition, options: RemovalOptions): Promise<string | undefined> {
  const { cluster, definitions, site, clock, patience, signal } = options;
  const { name } = definition.metadata;
  const live = definitions.get(name);
  if (!live) return undefined;
  if (!isDeleting(live)) {
    const ours = await site.get(CustomResourceDefinition, name, signal);
    if (!ours) return undefined; // another operator's
    await cluster.remove(CustomResourceDefinition, live);
    return `Waiting for all ${definition.spec.names.plural} to go`;
  }
  const remaining = await objectsOf(definition, options);
  const deadline = Date.parse(live.metadata.deletionTimestamp ?? "") + patience;
  if (deadline <= clock.now().getTime()) {
    await askNobody(options);
    await released(definition, remaining, options);
  }
  return waitingFor(definition, remaining, new Date(deadline));
}

/** Enough to know what to look at. */
const NAMED = 3;

function waitingFor(
  { spec }: CustomResourceDefinition,
  remaining: readonly DynamicObject[],
  deadline: Date,
): string | undefined {
  const held = remaining.filter(({ metadata }) => (metadata.finalizers ?? []).length > 0);
  if (held.length === 0) return `Waiting for all ${spec.names.plural} to go`;
  const named = held.slice(0, NAMED).map(({ metadata }) => {
    const name = metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
    return `${name} (${metadata.finalizers?.join(", ")})`;
  });
  const more = held.length > NAMED ? ` and ${held.length - NAMED} more` : "";
  const end = `Those that still wait after ${deadline.toISOString()} lose their finalizers.`;
  return `Waiting for ${spec.names.plural} whose finalizers somebody has to remove: ${named.join(", ")}${more}. ${end}`;
}

/** Nobody came in time; to wait for ever would leave a hub that is neither there nor gone. */
async function released(
  definition: CustomResourceDefinition,
  remaining: readonly DynamicObject[],
  { cluster, log, signal }: RemovalOptions,
): Promise<void> {
  const of = kindOf(definition);
  await forEach(remaining, async ({ metadata }) => {
    if (!metadata.finalizers?.length) return;
    const key = metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
    log.warn("its finalizers are removed, because nobody did it in time; what they stand for may be left behind", {
      kind: of.kind,
      object: key,
      finalizers: metadata.finalizers.join(","),
    });
    try {
      await cluster.client.patch(of, key, { metadata: { finalizers: null } }, { type: "merge", signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  });
}

/** Knative that somebody installed stays theirs: its definitions go only when there is none. */
async function withoutKnative(options: RemovalOptions): Promise<string | undefined> {
  const { definitions, log } = options;
  const waiting = await Promise.all(
    KNATIVE_DEFINITIONS.map(async (definition) => {
      const live = definitions.get(definition.metadata.name);
      if (!live) return undefined;
      const objects = isDeleting(live) ? [] : await objectsOf(definition, options);
      if (objects.length === 0) return wiped(definition, options);
      log.warn("what is installed by these stays, and waits for a hub to look after it", {
        kind: definition.spec.names.kind,
        objects: objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).join(","),
      });
      return undefined;
    }),
  );
  return waiting.find((each) => each !== undefined);
}

const CONFIGURATIONS = [
  ValidatingWebhookConfiguration,
  MutatingWebhookConfiguration,
] as unknown as readonly Kind<KubeObject>[];

/** Whether one of the webhooks is asked and has no Pod that could answer. */
async function isMute({ site, signal }: RemovalOptions): Promise<boolean> {
  const webhooks = (await site.list(Deployment, signal)).filter(({ metadata }) => metadata.name.endsWith("-webhook"));
  return webhooks.length === 0 || webhooks.some(({ status }) => (status?.availableReplicas ?? 0) === 0);
}

/** From now on everything is let through: until here, no cluster could accept itself on a hub that is about to go. */
async function askNobody({ cluster, site, signal }: RemovalOptions): Promise<void> {
  for (const of of CONFIGURATIONS) {
    await forEach(await site.list(of, signal), (configuration) => cluster.remove(of, configuration));
  }
}

/** Their Pods go before their rights do, so that they can give up what they hold. */
async function endPrograms({ cluster, site, signal }: RemovalOptions): Promise<string | undefined> {
  const deployments = await site.list(Deployment, signal);
  if (deployments.length === 0) return undefined;
  await forEach(
    deployments.filter((each) => !isDeleting(each)),
    async ({ metadata }) => {
      const options = {
        propagationPolicy: "Foreground",
        ...(metadata.uid && { preconditions: { uid: metadata.uid } }),
      } as const;
      try {
        await cluster.client.delete(Deployment, `${metadata.namespace}/${metadata.name}`, { ...options, signal });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    },
  );
  const names = deployments.map(({ metadata }) => metadata.name).sort();
  return `Waiting for the Pods of ${names.join(", ")} to end`;
}

/** What stays is nobody's from now on: an operator of any version may take it. */
async function disowned({ cluster, site, signal }: Pick<RemovalOptions, "cluster" | "site" | "signal">): Promise<void> {
  const annotations = { [OperatorAnnotation.version]: null, [hashAnnotationOf(FIELD_MANAGER)]: null };
  const labels = { [OperatorLabel.createdByClusterManager]: null };
  await forEach(await site.list(CustomResourceDefinition, signal), async ({ metadata }) => {
    const patch = { metadata: { annotations, labels } };
    await cluster.client.patch(CustomResourceDefinition, metadata.name, patch, { type: "merge", signal });
  });
}

async function objectsOf(
  definition: CustomResourceDefinition,
  { cluster, signal }: Pick<RemovalOptions, "cluster" | "signal">,
): Promise<readonly DynamicObject[]> {
  try {
    return (await cluster.client.list(kindOf(definition), { metadataOnly: true, signal })).items;
  } catch (error) {
    if (isNotFound(error) || isUnknownKind(error)) return [];
    throw error;
  }
}

/** In the version that is stored. */
function kindOf({ spec }: CustomResourceDefinition): Kind<DynamicObject> {
  const { name = "" } = spec.versions.find(({ storage }) => storage) ?? {};
  const { kind: word, plural } = spec.names;
  return kind<DynamicObject>({
    group: spec.group,
    version: name,
    kind: word,
    plural,
    namespaced: spec.scope === "Namespaced",
  });
}
