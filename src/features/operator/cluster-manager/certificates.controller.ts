/**
 * Keeps what the webhooks of a hub prove by who they are, and replaces it long before it ends.
 *
 * Key     ClusterManager name
 * Reads   ClusterManager, Namespace; Secret and ConfigMap in the namespace of the hub
 * Writes  Secret signer-secret, …-webhook-serving-cert; ConfigMap ca-bundle-configmap
 * Twin    ocm:pkg/operator/operators/clustermanager/controllers/certrotationcontroller
 */
import { ConfigMap, Namespace, Secret } from "#api/core";
import {
  ClusterManager,
  HUB_NAMESPACE,
  OperatorLabel,
  WebhookCertificate,
  type WebhookProgram,
  WebhookService,
} from "#api/operator";
import type { Clock } from "#lib/clock";
import { isDeleting, withLabels } from "#lib/meta";
import { again, type Cluster, type Controller, done } from "#runtime";
import { type KeptPair, renewed } from "./certificates.ts";
import { keeperAmong } from "./keeper.ts";
import { WEBHOOK_PROGRAMS } from "./names.ts";

/** Clocks are set, so that what is due far away is looked at now and then. */
const LOOK_EVERY_MS = 3600_000;

const key = (name: string) => `${HUB_NAMESPACE}/${name}` as const;
const HOSTS = Object.fromEntries(
  WEBHOOK_PROGRAMS.map((program) => [program, `${WebhookService[program]}.${HUB_NAMESPACE}.svc`]),
) as Record<WebhookProgram, string>;
const OURS: ReadonlySet<string> = new Set([
  WebhookCertificate.signer,
  WebhookCertificate.bundle,
  ...Object.values(WebhookCertificate.serving),
]);

/** Whether the object is one of those that are kept here. */
export function isCertificate({ kind, namespace, name }: { kind: string; namespace?: string; name: string }): boolean {
  return (kind === Secret.kind || kind === ConfigMap.kind) && namespace === HUB_NAMESPACE && OURS.has(name);
}

export function certificatesController({ cluster, clock }: { cluster: Cluster; clock: Clock }): Controller {
  const managers = cluster.cache(ClusterManager);
  const namespaces = cluster.cache(Namespace, { fieldSelector: `metadata.name=${HUB_NAMESPACE}` });
  const secrets = cluster.cache(Secret, { namespace: HUB_NAMESPACE });
  const bundles = cluster.cache(ConfigMap, {
    namespace: HUB_NAMESPACE,
    fieldSelector: `metadata.name=${WebhookCertificate.bundle}`,
  });
  const keeper = () => keeperAmong(managers.list())?.metadata.name ?? [];

  return {
    name: "webhook-certificates",
    triggers: [
      managers.keyedBy(({ metadata }) => metadata.name),
      namespaces.keyedBy(keeper),
      secrets.keyedBy(({ metadata }) => (OURS.has(metadata.name) ? keeper() : undefined)),
      bundles.keyedBy(keeper),
    ],

    async reconcile(name) {
      const manager = managers.get(name);
      const namespace = namespaces.get(HUB_NAMESPACE);
      // Nothing can be put into a namespace that is not there or goes; the other controller makes it.
      if (!manager || isDeleting(manager) || manager !== keeperAmong(managers.list())) return done;
      if (!namespace || isDeleting(namespace)) return done;

      const now = clock.now();
      const kept = {
        signer: pairIn(WebhookCertificate.signer),
        bundle: bundles.get(key(WebhookCertificate.bundle))?.data?.[WebhookCertificate.bundleKey] ?? "",
        serving: Object.fromEntries(
          WEBHOOK_PROGRAMS.flatMap((program) => {
            const pair = pairIn(WebhookCertificate.serving[program]);
            return pair ? [[program, pair]] : [];
          }),
        ) as Partial<Record<WebhookProgram, KeptPair>>,
      };
      const { signer, bundle, serving, due } = renewed(kept, HOSTS, now);
      await keepPair(name, WebhookCertificate.signer, signer);
      // Who is shown a new certificate must trust its authority by then.
      await keepBundle(name, bundle);
      for (const program of WEBHOOK_PROGRAMS) {
        await keepPair(name, WebhookCertificate.serving[program], serving[program]);
      }
      return again(Math.max(1_000, Math.min(LOOK_EVERY_MS, due.getTime() - now.getTime())));
    },
  };

  function pairIn(name: string): KeptPair | undefined {
    const { "tls.crt": certificate, "tls.key": pairKey } = secrets.get(key(name))?.data ?? {};
    if (certificate === undefined || pairKey === undefined) return undefined;
    const text = (base64: string) => Buffer.from(base64, "base64").toString("utf8");
    return { certificate: text(certificate), key: text(pairKey) };
  }

  async function keepPair(manager: string, name: string, pair: KeptPair): Promise<void> {
    const before = secrets.get(key(name));
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const data = { "tls.crt": base64(pair.certificate), "tls.key": base64(pair.key) };
    const labels = { [OperatorLabel.createdByClusterManager]: manager };
    const after = before
      ? withLabels({ ...before, data }, labels)
      : { metadata: { name, namespace: HUB_NAMESPACE, labels }, type: "kubernetes.io/tls", data };
    await cluster.commit(Secret, before, after);
  }

  async function keepBundle(manager: string, bundle: string): Promise<void> {
    const before = bundles.get(key(WebhookCertificate.bundle));
    const data = { [WebhookCertificate.bundleKey]: bundle };
    const labels = { [OperatorLabel.createdByClusterManager]: manager };
    const metadata = { name: WebhookCertificate.bundle, namespace: HUB_NAMESPACE, labels };
    await cluster.commit(ConfigMap, before, before ? withLabels({ ...before, data }, labels) : { metadata, data });
  }
}
