/**
 * Clusters whose kubeconfigs lie in Secrets on the hub. A Secret that loses its label, or is deleted, takes its
 * cluster with it; one that changes changes the way to its cluster.
 */
import { Secret } from "#api/core";
import { keyOf } from "#api/meta";
import { type Connection, fingerprint, parseKubeconfig } from "#kube";
import type { Clock } from "#lib/clock";
import type { Cluster } from "../../types.ts";
import { changesFrom } from "../changes.ts";
import { type FleetChange, type FleetProvider, FleetReason, type Offer, type Unreachable } from "../types.ts";
import { invalid, type KubeconfigTrust, wayOf } from "./kubeconfig-way.ts";

/** The labels by which such Secrets are known; each of them is enough. */
export const KUBECONFIG_SECRET_LABELS: readonly string[] = [
  "sigs.k8s.io/multicluster-runtime-kubeconfig=true",
  "kro.run/cluster=true",
  "multicluster.runtime/cluster=true",
];

export interface KubeconfigSecretsOptions {
  readonly hub: Cluster;
  /** Where to look; clusters are then called as their Secrets. Without it everywhere, and they are `namespace/name`. */
  readonly namespace?: string;
  /** Selectors, each of which is enough. */
  readonly labels?: readonly string[];
  /** The key of the Secret under which the kubeconfig lies; `kubeconfig` unless told. */
  readonly key?: string;
  /** What the kubeconfigs may ask for; nothing unless told. */
  readonly trust?: KubeconfigTrust;
  readonly clock: Clock;
}

export function kubeconfigSecretsProvider(options: KubeconfigSecretsOptions): FleetProvider {
  const { hub, namespace, labels = KUBECONFIG_SECRET_LABELS } = options;
  const place = namespace === undefined ? {} : { namespace };
  return {
    name: `kubeconfig Secrets in ${namespace ?? "all namespaces"} of ${hub.name}`,
    follow: (signal) =>
      changesFrom(signal, (tell, fail) => {
        const found = new Found(options, tell);
        const caches = labels.map((labelSelector) => hub.cache(Secret, { ...place, labelSelector }));
        const stops = caches.map((cache, label) =>
          cache.onChange((before, after) => found.changed(label, before, after)),
        );
        for (const cache of caches) cache.start(signal);
        Promise.all(caches.map((cache) => cache.whenSynced())).then(() => tell({ type: "listed" }), fail);
        return () => {
          for (const stop of stops) stop();
        };
      }),
  };
}

/** Which Secrets there are, and by which of the labels each was found. */
class Found {
  readonly #options: KubeconfigSecretsOptions;
  readonly #tell: (change: FleetChange) => void;
  readonly #labels = new Map<string, Set<number>>();

  constructor(options: KubeconfigSecretsOptions, tell: (change: FleetChange) => void) {
    this.#options = options;
    this.#tell = tell;
  }

  changed(label: number, before: Secret | undefined, after: Secret | undefined): void {
    const secret = after ?? before;
    if (!secret) return;
    const name = this.#nameOf(secret);
    const labels = this.#labels.get(name) ?? new Set();
    if (after) {
      this.#labels.set(name, labels.add(label));
      this.#tell({ type: "offered", offer: offerOf(name, after, this.#options) });
      return;
    }
    labels.delete(label);
    if (labels.size > 0) return;
    this.#labels.delete(name);
    this.#tell({ type: "removed", name });
  }

  #nameOf(secret: Secret): string {
    return this.#options.namespace === undefined ? keyOf(secret) : secret.metadata.name;
  }
}

function offerOf(
  name: string,
  secret: Secret,
  { key = "kubeconfig", trust = {}, clock }: KubeconfigSecretsOptions,
): Offer {
  const where = `Secret ${keyOf(secret)}`;
  const data = secret.data?.[key] ?? "";
  return {
    name,
    fingerprint: fingerprint([data]),
    async connect(): Promise<Connection | Unreachable> {
      if (data === "") return { reason: FleetReason.invalid, message: `${where} has no key ${key} with a kubeconfig` };
      try {
        const config = parseKubeconfig(Buffer.from(data, "base64").toString("utf8"), where);
        return await wayOf(config, undefined, { trust, clock });
      } catch (error) {
        return invalid(error);
      }
    },
  };
}
