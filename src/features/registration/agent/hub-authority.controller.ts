/**
 * Keeps up with the hub's authority. A hub that renews it names both for a while, the one that was and the one that
 * will be; the agent learns the new one while the old one still vouches for who tells it, and so needs nobody's hands.
 *
 * Key     the Secret's name: there is one hub
 * Reads   ConfigMaps kube-root-ca.crt and cluster-info in kube-public (hub), as far as the hub lets it; Secret
 * Writes  Secret: the authority in its kubeconfig, and an annotation by which it is known to be newer than what the
 *         bootstrap kubeconfig says
 */
import { ConfigMap, Secret } from "#api/core";
import { isForbidden, isNotFound, isUnauthorized, type KubeconfigCluster, parseYaml, YamlError } from "#kube";
import type { Clock } from "#lib/clock";
import { isObject } from "#lib/json";
import type { Logger } from "#lib/log";
import { withAnnotations } from "#lib/meta";
import { PkiError, parseCertificates } from "#lib/pki";
import { type Cluster, type Controller, done, type Trigger } from "#runtime";
import { authorityMark, HUB_SECRET, type HubTarget, LEARNED_ANNOTATION, trustedHub, wayData } from "./hub-identity.ts";

/** What the hub lets an agent read it does not let it watch; and authorities overlap for days. */
const LOOK_EVERY = 3_600_000;
/** Who was refused asks again so much later: what agents may read is decided once, when a hub is made. */
const REFUSED_FOR = 24 * LOOK_EVERY;

/** What an agent remembers of its looks for as long as it runs, whichever identity it comes with. */
export class AuthorityLooks {
  readonly #clock: Clock;
  readonly #wakes = new Set<() => void>();
  readonly #refusedUntil = new Map<string, number>();
  #isDue = true;
  #cancel = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Asks for a reconcile whenever a look is due. */
  trigger<K extends string>(key: K): Trigger<K> {
    return {
      subscribe: (enqueue) => {
        const wake = () => enqueue(key, { initial: true });
        this.#wakes.add(wake);
        if (this.#isDue) wake();
        return () => this.#wakes.delete(wake);
      },
    };
  }

  /** The hub was looked at, or somebody has just said whom to trust: the next look is due after a while. */
  done(): void {
    this.#cancel();
    this.#isDue = false;
    this.#cancel = this.#clock.after(LOOK_EVERY, () => {
      this.#isDue = true;
      for (const wake of this.#wakes) wake();
    });
  }

  close(): void {
    this.#cancel();
  }

  refused(question: string): void {
    this.#refusedUntil.set(question, this.#clock.now().getTime() + REFUSED_FOR);
  }

  isRefused(question: string): boolean {
    return this.#clock.now().getTime() < (this.#refusedUntil.get(question) ?? 0);
  }
}

export interface HubAuthorityOptions {
  /** As the agent's own identity. */
  hub: Cluster;
  /** The hub, trusted by this authority, as nobody; the caller closes it. */
  connectAnonymously(hub: KubeconfigCluster): Promise<Cluster>;
  /** Throws unless this authority vouches for the hub as it is now. */
  prove(hub: KubeconfigCluster): Promise<void>;
  home: Cluster;
  namespace: string;
  target: HubTarget;
  looks: AuthorityLooks;
  log: Logger;
}

/** Where a hub tells of its authority. */
interface Source {
  readonly map: string;
  read(data: Data): string | undefined;
}

type Data = Readonly<Record<string, string>>;

/** Somebody keeps it up to date. */
const ROOT_AUTHORITY: Source = { map: "kube-public/kube-root-ca.crt", read: (data) => data["ca.crt"] };
/** There are clusters that show this one to everybody. */
const CLUSTER_INFO: Source = { map: "kube-public/cluster-info", read: (data) => authorityIn(data.kubeconfig) };

interface Told {
  readonly from: string;
  readonly authority: string;
}

export function hubAuthorityController(options: HubAuthorityOptions): Controller {
  const { hub, home, namespace, target, looks, log } = options;
  const secrets = home.cache(Secret, { namespace, fieldSelector: `metadata.name=${HUB_SECRET}` });

  return {
    name: "hub-authority",
    triggers: [looks.trigger(HUB_SECRET)],
    reads: [secrets],

    async reconcile() {
      const secret = secrets.get(`${namespace}/${HUB_SECRET}`);
      const trusted = trustedHub(secret, target.hub);
      // Where the system's authorities are trusted, or none, there is nothing to learn.
      if (secret && trusted.ca && "pem" in trusted.ca) await learn(secret, trusted, trusted.ca.pem);
      looks.done();
      return done;
    },
  };

  async function learn(secret: Secret, trusted: KubeconfigCluster, known: string): Promise<void> {
    for (const { from, authority } of await told(trusted)) {
      if (isSame(authority, known)) return;
      if (await adopted(secret, { ...trusted, ca: { pem: authority } }, from)) return;
    }
  }

  /** What the hub says of its authority, wherever it lets us read it. Both are given to agents together, or neither. */
  async function told(trusted: KubeconfigCluster): Promise<Told[]> {
    const root = await read(ROOT_AUTHORITY, hub, "itself");
    if (root !== "refused") {
      const info = await read(CLUSTER_INFO, hub, "itself");
      const own = [root, info].flatMap((each) => (typeof each === "object" ? [each] : []));
      if (own.length > 0) return own;
    }
    if (looks.isRefused(question(CLUSTER_INFO, "nobody"))) return [];
    const anonymous = await options.connectAnonymously(trusted);
    try {
      const shown = await read(CLUSTER_INFO, anonymous, "nobody");
      return typeof shown === "object" ? [shown] : [];
    } finally {
      anonymous.client.close();
    }
  }

  async function read(
    source: Source,
    { client }: Cluster,
    as: "itself" | "nobody",
  ): Promise<Told | "refused" | "none"> {
    const { map } = source;
    if (looks.isRefused(question(source, as))) return "refused";
    try {
      const authority = source.read((await client.get(ConfigMap, map)).data ?? {}) ?? "";
      return certificatesIn(authority).length > 0 ? { from: `ConfigMap ${map}`, authority } : "none";
    } catch (error) {
      if (isNotFound(error)) return "none";
      // A hub that keeps it to itself tells nobody; then a renewed bootstrap kubeconfig has to.
      if (!isForbidden(error) && !isUnauthorized(error)) throw error;
      looks.refused(question(source, as));
      return "refused";
    }
  }

  /** An authority that does not vouch for the hub as it is now would lock us out: others may stand before the hub. */
  async function adopted(secret: Secret, renewed: KubeconfigCluster, from: string): Promise<boolean> {
    try {
      await options.prove(renewed);
    } catch (cause) {
      log.debug("the hub tells of an authority that does not vouch for it; the one before stays", { from, cause });
      return false;
    }
    const next = { ...secret, data: { ...secret.data, ...wayData(renewed) } };
    const mark = { [LEARNED_ANNOTATION]: authorityMark(target.hub) };
    await home.commit(Secret, secret, withAnnotations(next, mark));
    log.info("trusts the hub's renewed authority, of which the hub itself has told", {
      cluster: target.clusterName,
      from,
    });
    return true;
  }
}

function question({ map }: Source, as: "itself" | "nobody"): string {
  return `${map} as ${as}`;
}

/** The authority in the kubeconfig of a cluster-info, whose one cluster has no name. */
function authorityIn(text: string | undefined): string | undefined {
  try {
    const config = parseYaml(text ?? "");
    const clusters = isObject(config) && Array.isArray(config.clusters) ? config.clusters.filter(isObject) : [];
    const only = clusters.length === 1 ? clusters[0]?.cluster : undefined;
    const data = isObject(only) ? only["certificate-authority-data"] : undefined;
    return typeof data === "string" ? Buffer.from(data, "base64").toString("utf8") : undefined;
  } catch (error) {
    if (error instanceof YamlError) return undefined;
    throw error;
  }
}

/** Whether two bundles hold the same certificates, in whatever order. */
function isSame(a: string, b: string): boolean {
  const marks = (bundle: string) => [...new Set(certificatesIn(bundle))].sort().join();
  return marks(a) === marks(b);
}

/** None for what cannot be read. */
function certificatesIn(bundle: string): string[] {
  try {
    return parseCertificates(bundle).map(({ der }) => der.toString("base64"));
  } catch (error) {
    if (error instanceof PkiError) return [];
    throw error;
  }
}
