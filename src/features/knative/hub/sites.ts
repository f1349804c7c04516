/** The clusters that installations stand on: putting them there, seeing how they fare, and taking them away again. */
import { ConfigMap, Namespace } from "#api/core";
import { apiVersionOf, type DynamicObject, keyOf, type OwnerReference } from "#api/meta";
import {
  type ApplyReport,
  type ApplyStrategy,
  type Draft,
  idOf,
  isAlreadyExists,
  isNotFound,
  type Manifest,
  type ObjectId,
  type ObjectSet,
  type Wish,
} from "#kube";
import type { Clock } from "#lib/clock";
import type { Cluster, Trigger } from "#runtime";
import { componentOf } from "../component.ts";
import type { Releases, TargetRelease } from "../releases/index.ts";
import { PING_ADAPTER, placed, transformed, withoutEncryption } from "../transform/index.ts";
import { anchorFor, foretoldOwner, labelsFor, mended, namespaceFor, ownerFrom } from "./anchor.ts";
import { type Flavour, type Installation, type Place, placeOf } from "./installation.ts";
import { FIELD_MANAGER, Presence } from "./presence.ts";
import { InstalledRecord } from "./record.ts";
import { removeFrom, trackingOf } from "./removal.ts";
import { departedIn, hindranceIn } from "./report.ts";
import type { Target } from "./target.ts";
import { jobsDone, type Waiting, type WishesOptions, waitedFor, wishesFor } from "./wishes.ts";

/** How an installation fares after it was put on its cluster. */
export interface Installed {
  readonly version: string;
  /** For `status.manifests`. */
  readonly paths: readonly string[];
  /** What keeps it from being complete. */
  readonly hindrance?: string;
  /** The Deployments that do not work yet. */
  readonly waitingFor: Waiting;
  /** The Jobs of this version that have done their work, by name. */
  readonly completedJobs: readonly string[];
}

export interface SitesOptions {
  readonly flavour: Flavour;
  readonly releases: Releases;
  /** The oldest Kubernetes that Knative's programs may accept; theirs unless told. */
  readonly kubernetesMinVersion?: string | undefined;
  readonly clock: Clock;
}

/** What stands in the way and is likely to pass, such as a definition that is not served yet, is waited for so long. */
const PATIENCE_MS = 20_000;
/** While Deployments start, webhooks wait for them; that they have started is told, so nobody need stand by. */
const PATIENCE_WITH_STARTS_MS = 3_000;
/** Upstream's operator writes whole objects under the same name. */
const STRATEGY: ApplyStrategy = { type: "ServerSideApply", force: true, succeeds: [FIELD_MANAGER] };

export class Sites {
  readonly #options: SitesOptions;
  readonly #presences = new Map<string, Presence>();
  readonly #records = new Map<string, InstalledRecord>();
  #enqueue: (key: string) => void = () => {};

  constructor(options: SitesOptions) {
    this.#options = options;
  }

  /** Asks for whatever is not as it was left on its cluster, and for what works now or no longer does. */
  readonly trigger: Trigger<string> = {
    subscribe: (enqueue) => {
      this.#enqueue = enqueue;
      return () => {
        this.#enqueue = () => {};
        for (const key of [...this.#presences.keys()]) this.leave(key);
      };
    },
  };

  /** Puts it there, or what is missing of it; what it no longer needs goes when all else works. */
  async install(installation: Installation, target: Target, { signal }: { signal: AbortSignal }): Promise<Installed> {
    const place = placeOf(installation, this.#options.flavour);
    const presence = this.#presenceOf(installation, target.cluster);
    const stand = { installation, place, presence, signal };
    const owner = await this.#owner(installation, place, presence, signal);
    const { release, objects, set } = await this.#wished(owner, stand);

    const isStarting = (await waitedFor(objects, stand)).names.length > 0;
    const patience = isStarting ? PATIENCE_WITH_STARTS_MS : PATIENCE_MS;
    const report = await presence.apply(set(false), { signal, patience });
    const waitingFor = await waitedFor(objects, stand, report.objects);
    const first = hindranceIn(report, { isStarting: waitingFor.names.length > 0 });
    const isWorking = first === undefined && waitingFor.names.length === 0;
    const hindrance =
      isWorking && departedIn(report) > 0 ? hindranceIn(await presence.apply(set(true), { signal })) : first;
    return {
      version: release.version,
      paths: release.paths,
      ...(hindrance !== undefined && { hindrance }),
      waitingFor,
      completedJobs: await jobsDone(objects, stand),
    };
  }

  /** What `install` would do now, up to the removal of what is no longer needed; nothing is written. */
  async plan(
    installation: Installation,
    target: Target,
    { signal }: { signal: AbortSignal },
  ): Promise<{ version: string; report: ApplyReport }> {
    const place = placeOf(installation, this.#options.flavour);
    const presence = this.#presenceOf(installation, target.cluster);
    const stand = { installation, place, presence, signal };
    const { owner, first } = await foretold(stand);
    const { release, set } = await this.#wished(owner, stand);
    const { wishes, ...rest } = set(true);
    const report = await presence.plan({ ...rest, wishes: [...first, ...wishes] }, { signal });
    return { version: release.version, report };
  }

  /** Takes all of it away, or only what makes it this installation's where another shares it; the answer is what hinders. */
  async remove(
    installation: Installation,
    target: Target,
    { isShared, signal }: { isShared: boolean; signal: AbortSignal },
  ): Promise<string | undefined> {
    const place = placeOf(installation, this.#options.flavour);
    const presence = this.#presenceOf(installation, target.cluster);
    const record = this.#record(installation, place, presence);
    return removeFrom({ place, presence, record, isShared, signal });
  }

  /** Lets go of what was kept in memory about it. */
  leave(key: string): void {
    this.#presences.get(key)?.close();
    this.#presences.delete(key);
    this.#records.delete(key);
  }

  #presenceOf(installation: Installation, cluster: Cluster): Presence {
    const key = keyOf(installation);
    const known = this.#presences.get(key);
    if (known?.cluster === cluster) return known;
    this.leave(key); // another server answers now
    const { flavour, clock } = this.#options;
    const { component } = flavour;
    const presence = new Presence({ cluster, component, clock, onChange: () => this.#enqueue(key) });
    this.#presences.set(key, presence);
    return presence;
  }

  #record(installation: Installation, place: Place, presence: Presence, owner?: OwnerReference): InstalledRecord {
    const key = keyOf(installation);
    const known = this.#records.get(key);
    if (known) return known;
    const record = new InstalledRecord({
      cluster: presence.cluster,
      namespace: place.namespace,
      name: place.record,
      labels: labelsFor(installation),
      ...(owner && { owner }),
      before: () => this.#installedBefore(installation, place),
      inherited: ({ signal }) => presence.lists(place, signal),
    });
    this.#records.set(key, record);
    return record;
  }

  /** What another operator says that it has installed. */
  async #installedBefore(installation: Installation, { namespace }: Place): Promise<readonly ObjectId[]> {
    const { manifests = [], version = "" } = installation.status ?? {};
    if (manifests.length === 0) return [];
    const installed = await this.#options.releases.installed(manifests);
    const component = componentOf(installation);
    return placed(installed, { component, installNamespace: namespace, version }).map(({ object }) => idOf(object));
  }

  /** What is asked of the engine, and what it was made from. */
  async #wished(owner: OwnerReference, stand: WishesOptions): Promise<Wished> {
    const { installation, place, presence } = stand;
    const release = await this.#options.releases.target(componentOf(installation));
    const manifests = await this.#manifests(release, owner, stand);
    const wishes = await wishesFor(manifests, stand);
    const record = this.#record(installation, place, presence, owner);
    return {
      release,
      objects: manifests.map(({ object }) => object),
      set: (prune) => ({
        wishes,
        strategy: STRATEGY,
        namespace: place.namespace,
        tracking: trackingOf(place, record, prune),
      }),
    };
  }

  /** The release as this installation wishes it. */
  async #manifests(
    { manifests, version }: TargetRelease,
    owner: OwnerReference,
    { installation, place: { namespace }, presence, signal }: WishesOptions,
  ): Promise<readonly Manifest[]> {
    const component = componentOf(installation);
    const wished = transformed(manifests, {
      component,
      installNamespace: namespace,
      owner,
      targetVersion: version,
      kubernetesMinVersion: this.#options.kubernetesMinVersion,
      pingAdapter:
        component.kind === "KnativeEventing"
          ? await presence.deployment(`${namespace}/${PING_ADAPTER}`, signal)
          : undefined,
    });
    return component.kind === "KnativeEventing" ? withoutEncryption(wished, component.spec).manifests : wished;
  }

  /** Who owns what is in the namespace; on another cluster it is made first, and mended. */
  async #owner(
    installation: Installation,
    place: Place,
    presence: Presence,
    signal: AbortSignal,
  ): Promise<OwnerReference> {
    if (place.anchor === undefined) return ownerFrom(installation);
    const { cluster } = presence;
    const wished = anchorFor(installation, place);
    const live = await presence.own(`${place.namespace}/${place.anchor}`, signal);
    if (live) return ownerFrom(await cluster.commit(ConfigMap, live, mended(live, wished)));
    await ensureNamespace(cluster, installation, place);
    return ownerFrom(await createdOrFound(cluster, wished));
  }
}

interface Wished {
  readonly release: TargetRelease;
  readonly objects: readonly DynamicObject[];
  /** `prune` says whether what is no longer needed is removed. */
  readonly set: (prune: boolean) => ObjectSet;
}

/** Who will own what is in the namespace, and what will be made before all else. */
async function foretold({
  installation,
  place,
  presence,
  signal,
}: WishesOptions): Promise<{ owner: OwnerReference; first: readonly Wish[] }> {
  if (place.anchor === undefined) return { owner: foretoldOwner(installation), first: [] };
  const live = await presence.own(`${place.namespace}/${place.anchor}`, signal);
  if (live) return { owner: ownerFrom(live), first: [] };
  const anchor = { ...anchorFor(installation, place), apiVersion: apiVersionOf(ConfigMap), kind: ConfigMap.kind };
  const space = {
    ...namespaceFor(installation, place.namespace),
    apiVersion: apiVersionOf(Namespace),
    kind: Namespace.kind,
  };
  const isThere = await hasNamespace(presence.cluster, place.namespace);
  const first = [...(isThere ? [] : [space]), anchor];
  return {
    owner: foretoldOwner(anchor as ConfigMap),
    first: first.map((object) => ({ object: object as DynamicObject, strategy: { type: "CreateOnly" } })),
  };
}

async function hasNamespace({ client }: Cluster, name: string): Promise<boolean> {
  try {
    await client.get(Namespace, name);
    return true;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return false;
  }
}

/** A namespace that exists is its owner's, and never written. */
async function ensureNamespace(cluster: Cluster, installation: Installation, { namespace }: Place): Promise<void> {
  if (await hasNamespace(cluster, namespace)) return;
  await cluster.client.create(Namespace, namespaceFor(installation, namespace)).catch((failure: unknown) => {
    if (!isAlreadyExists(failure)) throw failure;
  });
}

/** The copy may lag behind the server. */
async function createdOrFound({ client }: Cluster, anchor: Draft<ConfigMap>): Promise<ConfigMap> {
  try {
    return await client.create(ConfigMap, anchor);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return client.get(ConfigMap, `${anchor.metadata.namespace}/${anchor.metadata.name}`);
  }
}
