/**
 * Tells on a Klusterlet whether the hub lets its agents do what they have to. It is asked when one of the Secrets
 * changes that lead to the hub, and now and then, because what the hub allows cannot be watched from here.
 *
 * Key     Klusterlet name
 * Reads   Klusterlet; the Secrets bootstrap-hub-kubeconfig and hub-kubeconfig-secret; SelfSubjectAccessReview (hub)
 * Writes  Klusterlet status: HubConnectionDegraded
 * Twin    ocm:pkg/operator/operators/klusterlet/controllers/ssarcontroller
 */
import { Secret } from "#api/core";
import { Klusterlet, OperatorSecret } from "#api/operator";
import { type Client, type Connection, fingerprint } from "#kube";
import type { Clock } from "#lib/clock";
import { type ConditionClaim, setCondition } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { again, type Cluster, type Controller, done, predicates } from "#runtime";
import { askHub } from "./hub-connection.ts";
import { agentNamespaceOf } from "./wish.ts";

/** A cluster that was just accepted should not have to wait. */
const SOON_MS = 30_000;
/** Rights that somebody took away, or a hub that does not answer. */
const LATER_MS = 5 * 60_000;
/** However often the Secrets change, the hub is not asked more often. */
const PAUSE_MS = 1_000;

export interface HubConnectionOptions {
  readonly cluster: Cluster;
  readonly connect: (connection: Connection) => Client;
  readonly clock: Clock;
}

interface Look {
  /** What it was taken from. */
  readonly mark: string;
  readonly at: number;
  readonly next: number;
  readonly claim: ConditionClaim;
}

export function hubConnectionController({ cluster, connect, clock }: HubConnectionOptions): Controller {
  const klusterlets = cluster.cache(Klusterlet);
  const named = (name: string) => cluster.cache(Secret, { fieldSelector: `metadata.name=${name}` });
  const [hubSecrets, bootstrapSecrets] = [named(OperatorSecret.hub), named(OperatorSecret.bootstrap)];
  const inNamespace = klusterlets.indexBy(agentNamespaceOf);
  const keysOf = ({ metadata }: Secret) => inNamespace.at(metadata.namespace ?? "").map((each) => each.metadata.name);
  const looks = new Map<string, Look>();

  return {
    name: "klusterlet-hub-connection",
    triggers: [
      klusterlets.keyedBy(({ metadata }) => metadata.name, {
        when: predicates.anyOf(
          predicates.generationChanged,
          predicates.changed(({ status }: Klusterlet) => status),
        ),
      }),
      hubSecrets.keyedBy(keysOf),
      bootstrapSecrets.keyedBy(keysOf),
    ],
    // A hub that does not answer holds up nobody else's.
    concurrency: 4,

    async reconcile(name, { signal }) {
      const klusterlet = klusterlets.get(name);
      if (!klusterlet || isDeleting(klusterlet)) {
        looks.delete(name);
        return done;
      }
      const look = await lookAt(klusterlet, signal);
      if (!look) return again(PAUSE_MS);
      const conditions = setCondition(klusterlet.status?.conditions, look.claim, clock.now());
      await cluster.commit(Klusterlet, klusterlet, { ...klusterlet, status: { ...klusterlet.status, conditions } });
      return again(Math.max(look.next - clock.now().getTime(), PAUSE_MS));
    },
  };

  /** The last look while it is good; undefined while it is too early for another. */
  async function lookAt(klusterlet: Klusterlet, signal: AbortSignal): Promise<Look | undefined> {
    const { name } = klusterlet.metadata;
    const namespace = agentNamespaceOf(klusterlet);
    const hubSecret = hubSecrets.get(`${namespace}/${OperatorSecret.hub}`);
    const bootstrapSecret = bootstrapSecrets.get(`${namespace}/${OperatorSecret.bootstrap}`);
    const mark = fingerprint([namespace, hubSecret?.data, bootstrapSecret?.data]);
    const last = looks.get(name);
    const now = clock.now().getTime();
    if (last?.mark === mark && now < last.next) return last;
    if (last && now < last.at + PAUSE_MS) return undefined;
    const question = { namespace, hubSecret, bootstrapSecret, connect, now: clock.now(), signal };
    const { claim, isPending } = await askHub(question);
    const at = clock.now().getTime();
    const look = { mark, at, next: at + (isPending ? SOON_MS : LATER_MS), claim };
    looks.set(name, look);
    return look;
  }
}
