/**
 * Tells one hub from another, though they may have the same address: by the uid of the cluster's own ManagedCluster. Every
 * agent may read it, on every hub, and no two hubs have the same. It stays when a hub is restored from a copy of its
 * storage, and changes when the hub, or the cluster's membership, is made anew.
 */
import { ManagedCluster } from "#api/cluster";
import { isForbidden, isKubeError, isNotFound } from "#kube";
import type { Cluster } from "#runtime";

export class HubIdentity {
  readonly #hub: Cluster;
  readonly #clusterName: string;
  #known: string | undefined;
  #asking: Promise<string | undefined> | undefined;

  constructor(hub: Cluster, clusterName: string) {
    this.#hub = hub;
    this.#clusterName = clusterName;
  }

  /** As the hub says now; undefined when it does not say. Throws when it does not answer. */
  async asked(signal: AbortSignal): Promise<string | undefined> {
    try {
      const { metadata } = await this.#hub.client.get(ManagedCluster, this.#clusterName, { signal });
      this.#known = metadata.uid;
    } catch (error) {
      if (!isNotFound(error) && !isForbidden(error)) throw error;
      this.#known = undefined;
    }
    return this.#known;
  }

  /** As it said last, for who may do without. */
  async known(signal: AbortSignal): Promise<string | undefined> {
    try {
      if (this.#known !== undefined) return this.#known;
      // Many works begin at once; one question is enough.
      this.#asking ??= this.asked(signal).finally(() => {
        this.#asking = undefined;
      });
      return await this.#asking;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return undefined;
    }
  }
}
