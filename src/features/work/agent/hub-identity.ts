/**
 * Tells one hub from another, though they may have the same address: by the uid of the cluster's own ManagedCluster. Every
 * agent may read it, on every hub, and no two hubs have the same. It stays when a hub is restored from a copy of its
 * storage, and changes when the hub, or the cluster's membership, is made anew. Where there is no such object, the uid of
 * the hub's `kube-system` says the same to those who may read it.
 */
import { ManagedCluster } from "#api/cluster";
import { Namespace } from "#api/core";
import type { Key, Kind, KubeObject } from "#api/meta";
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
    this.#known =
      (await this.#uidOf(ManagedCluster, this.#clusterName, signal)) ??
      (await this.#uidOf(Namespace, "kube-system", signal));
    return this.#known;
  }

  async #uidOf<T extends KubeObject>(kind: Kind<T>, name: Key<T>, signal: AbortSignal): Promise<string | undefined> {
    try {
      return (await this.#hub.client.get(kind, name, { signal })).metadata.uid;
    } catch (error) {
      if (isNotFound(error) || isForbidden(error)) return undefined;
      throw error;
    }
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
