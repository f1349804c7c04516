/**
 * Shows that the nodes of this process are alive: it renews a Lease for each of them, and writes nothing else.
 *
 * Key     Node name
 * Reads   Node
 * Writes  Lease kube-node-lease/NAME
 * Twin    kubelet: node lease
 */
import { Lease } from "#api/coordination";
import { Node } from "#api/core";
import { isConflict, isNotFound } from "#kube";
import { type Clock, microTimestamp } from "#lib/clock";
import { ownerReference } from "#lib/meta";
import { again, type Cluster, type Controller, done } from "#runtime";

const NAMESPACE = "kube-node-lease";
const DURATION_SECONDS = 40;
const RENEW_EVERY_MS = 10_000;
/** Renewals come up to so much later, so that many nodes do not renew all at once. */
const JITTER = 0.04;

export interface LeaseOptions {
  cluster: Cluster;
  nodes: ReadonlySet<string>;
  clock: Clock;
  random: () => number;
}

export function leaseController({ cluster, nodes: ours, clock, random }: LeaseOptions): Controller {
  const nodes = cluster.cache(Node);
  /** What the server said last: renewing is then one request, as nobody else writes these Leases. */
  const leases = new Map<string, Lease>();
  const due = new Map<string, number>();

  return {
    name: "node-lease",
    triggers: [nodes.keyedBy(({ metadata: { name } }) => (ours.has(name) ? name : undefined))],
    concurrency: ours.size,

    async reconcile(name) {
      const node = nodes.get(name);
      if (!node) return done; // nobody asks whether a node lives that is not there
      const now = clock.now();
      const left = (due.get(name) ?? 0) - now.getTime();
      if (left > 0) return again(left); // a change of the Node woke us between two renewals
      leases.set(name, await renew(node, now));
      const period = RENEW_EVERY_MS * (1 + JITTER * random());
      due.set(name, now.getTime() + period);
      return again(period);
    },
  };

  async function renew(node: Node, now: Date): Promise<Lease> {
    const { name } = node.metadata;
    const known = leases.get(name);
    leases.delete(name);
    if (!known) return renewed(node, await stored(name), now);
    try {
      return await renewed(node, known, now);
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return renew(node, now); // it was replaced: look at it once
      throw error;
    }
  }

  async function renewed(node: Node, lease: Lease | undefined, now: Date): Promise<Lease> {
    const { name } = node.metadata;
    const next = {
      metadata: { ...lease?.metadata, name, namespace: NAMESPACE, ownerReferences: [ownerOf(node)] },
      spec: {
        ...lease?.spec,
        holderIdentity: name,
        leaseDurationSeconds: DURATION_SECONDS,
        renewTime: microTimestamp(now),
      },
    };
    if (!lease) return cluster.client.create(Lease, next);
    return cluster.client.update(Lease, { ...lease, ...next });
  }

  async function stored(name: string): Promise<Lease | undefined> {
    try {
      return await cluster.client.get(Lease, `${NAMESPACE}/${name}`);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

function ownerOf(node: Node) {
  return ownerReference(node, { controller: false });
}
