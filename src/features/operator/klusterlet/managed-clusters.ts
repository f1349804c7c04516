/**
 * The clusters of Klusterlets whose agents run elsewhere: the way to each lies in a Secret in the namespace that is named
 * after the Klusterlet.
 */
import { Secret } from "#api/core";
import { Klusterlet, OperatorSecret } from "#api/operator";
import { fingerprint, KubeconfigError } from "#kube";
import { type Cluster, changesFrom, type FleetChange, type FleetProvider, FleetReason, type Offer } from "#runtime";
import { connectionIn } from "./kubeconfig-secret.ts";
import { isHosted } from "./wish.ts";

const PREFIX = "managed/";

/** What the cluster of a Klusterlet is called. */
export function managedClusterName(klusterlet: string): string {
  return `${PREFIX}${klusterlet}`;
}

/** The Klusterlet that a cluster of that name belongs to. */
export function klusterletOf(cluster: string): string {
  return cluster.slice(PREFIX.length);
}

export function managedClustersProvider({ cluster }: { cluster: Cluster }): FleetProvider {
  const klusterlets = cluster.cache(Klusterlet);
  const secrets = cluster.cache(Secret, { fieldSelector: `metadata.name=${OperatorSecret.managed}` });
  return {
    name: "managed clusters of hosted Klusterlets",
    follow: (signal) =>
      changesFrom(signal, (tell, fail) => {
        const offered = new Set<string>();
        const look = (name: string) => {
          const klusterlet = klusterlets.get(name);
          if (klusterlet && isHosted(klusterlet)) {
            offered.add(name);
            tell({ type: "offered", offer: offerOf(name, secrets.get(`${name}/${OperatorSecret.managed}`)) });
          } else if (offered.delete(name)) tell({ type: "removed", name: managedClusterName(name) });
        };
        klusterlets.start(signal);
        secrets.start(signal);
        const stops: (() => void)[] = [];
        const begin = () => {
          stops.push(
            klusterlets.onChange((before, after) => look((after ?? before)?.metadata.name ?? "")),
            secrets.onChange((before, after) => look((after ?? before)?.metadata.namespace ?? "")),
          );
          tell({ type: "listed" } satisfies FleetChange);
        };
        Promise.all([klusterlets.whenSynced(), secrets.whenSynced()]).then(begin, fail);
        return () => {
          for (const stop of stops) stop();
        };
      }),
  };
}

function offerOf(klusterlet: string, secret: Secret | undefined): Offer {
  return {
    name: managedClusterName(klusterlet),
    fingerprint: fingerprint(secret?.data ?? null),
    async connect() {
      if (!secret) {
        const message = `Secret ${klusterlet}/${OperatorSecret.managed} is not there; put a kubeconfig of the managed cluster into it under the key kubeconfig`;
        return { reason: FleetReason.invalid, message };
      }
      try {
        return await connectionIn(secret);
      } catch (error) {
        if (!(error instanceof KubeconfigError)) throw error;
        return { reason: FleetReason.invalid, message: error.message };
      }
    },
  };
}
