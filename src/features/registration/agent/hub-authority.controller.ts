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
import {
  isForbidden,
  isKubeError,
  isNotFound,
  isUnauthorized,
  type KubeconfigCluster,
  parseYaml,
  YamlError,
} from "#kube";
import { isObject } from "#lib/json";
import type { Logger } from "#lib/log";
import { withAnnotations } from "#lib/meta";
import { PkiError, parseCertificates } from "#lib/pki";
import { again, atStart, type Cluster, type Controller } from "#runtime";
import { authorityMark, HUB_SECRET, type HubTarget, LEARNED_ANNOTATION, trustedHub, wayData } from "./hub-identity.ts";

/** What the hub lets an agent read it does not let it watch; and authorities overlap for days. */
const LOOK_EVERY = 3_600_000;

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
  log: Logger;
}

/** Where a hub tells of its authority, those first that somebody keeps up to date. */
const SOURCES = [
  { map: "kube-public/kube-root-ca.crt", read: (data: Data) => data["ca.crt"] },
  { map: "kube-public/cluster-info", read: (data: Data) => authorityIn(data.kubeconfig) },
] as const;

type Data = Readonly<Record<string, string>>;

export function hubAuthorityController(options: HubAuthorityOptions): Controller {
  const { hub, home, namespace, target, log } = options;
  const secrets = home.cache(Secret, { namespace, fieldSelector: `metadata.name=${HUB_SECRET}` });

  return {
    name: "hub-authority",
    triggers: [atStart(HUB_SECRET)],
    reads: [secrets],

    async reconcile() {
      const secret = secrets.get(`${namespace}/${HUB_SECRET}`);
      const trusted = trustedHub(secret, target.hub);
      // Where the system's authorities are trusted, or none, there is nothing to learn.
      if (!secret || !trusted.ca || !("pem" in trusted.ca)) return again(LOOK_EVERY);
      for (const { from, authority } of await told(trusted)) {
        if (isSame(authority, trusted.ca.pem)) break;
        if (await adopted(secret, { ...trusted, ca: { pem: authority } }, from)) break;
      }
      return again(LOOK_EVERY);
    },
  };

  /** What the hub says of its authority, wherever it lets us read it. */
  async function told(trusted: KubeconfigCluster): Promise<{ from: string; authority: string }[]> {
    const own = await readAll(hub);
    if (own.length > 0) return own;
    const anonymous = await options.connectAnonymously(trusted);
    try {
      return await readAll(anonymous);
    } finally {
      anonymous.client.close();
    }
  }

  async function readAll({ client }: Cluster): Promise<{ from: string; authority: string }[]> {
    const found: { from: string; authority: string }[] = [];
    for (const { map, read } of SOURCES) {
      const authority = read((await readable(client, map)) ?? {}) ?? "";
      if (certificatesIn(authority).length > 0) found.push({ from: `ConfigMap ${map}`, authority });
    }
    return found;
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

async function readable(client: Cluster["client"], map: string): Promise<Data | undefined> {
  try {
    return (await client.get(ConfigMap, map)).data;
  } catch (error) {
    // A hub that keeps it to itself tells nobody; then a renewed bootstrap kubeconfig has to.
    if (isKubeError(error) && (isForbidden(error) || isUnauthorized(error) || isNotFound(error))) return undefined;
    throw error;
  }
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
