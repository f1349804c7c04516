/**
 * The webhooks of a hub that no operator installed: they are served by its own process, with an authority that nobody
 * else knows, and API servers are told of them by the hub itself, for as long as it leads.
 */
import {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
  type WebhookClientConfig,
} from "#api/admissionregistration";
import { ManagedCluster } from "#api/cluster";
import type { Kind, KubeObject } from "#api/meta";
import { type HubWebhook, HubWebhooks, OperatorLabel } from "#api/operator";
import { clientConfigAt, webhookConfiguration } from "#features/operator/kit";
import { type Client, isForbidden, isKubeError, isNotFound } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { createCertificateAuthority, generateKeyPair, issueCertificate } from "#lib/pki";
import { atStart, type Cluster, type Controller, done, type ServingPair } from "#runtime";
import { isOnThisMachine, listening, registrationHandlers, type WebhookGates, workHandlers } from "./webhooks.ts";

/** What people say about them. */
export interface HubWebhookSettings {
  /** Where API servers reach this process, if that is not on their own machine: `https://host:port`. */
  readonly url?: string;
  /** Where to listen; the port of the URL at every address unless told, and any port of this machine without a URL. */
  readonly address?: { readonly host?: string; readonly port: number };
}

export interface HubWebhookOptions extends HubWebhookSettings {
  readonly cluster: Cluster;
  readonly gates: WebhookGates;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ServedWebhooks {
  /** Tells API servers of them while it runs. */
  readonly controller: Controller;
  /** Lets API servers forget them, and ends. */
  close(): Promise<void>;
}

const TEN_YEARS_MS = 10 * 365 * 24 * 3600 * 1000;

/** Undefined where API servers could not reach them, which is told. */
export async function serveHubWebhooks(options: HubWebhookOptions): Promise<ServedWebhooks | undefined> {
  const { cluster, gates, url, address, clock, log } = options;
  const { client } = cluster;
  if (url === undefined && !isOnThisMachine(client.server)) {
    log.info(
      "admission webhooks are not served, because this API server is not on this machine; install the hub with `capstan init`, or give --webhook-url",
    );
    return undefined;
  }
  const hindrance = await hindranceTo(client);
  if (hindrance !== undefined) {
    log.info(`admission webhooks are not served, because the hub may not keep their configurations: ${hindrance}`);
    return undefined;
  }
  const { hostname, port } = new URL(url ?? "https://127.0.0.1");
  const { pair, authority } = ownIdentity(hostname, clock.now());
  const server = await listening({
    ...(address ?? (url === undefined ? { port: 0 } : { host: "", port: Number(port || 443) })),
    pair,
    handlers: { ...registrationHandlers({ client, gates, clock, log }), ...workHandlers({ client, gates, log }) },
  });
  const base = url ?? `https://127.0.0.1:${server.port}`;
  const controller = configurationController({ cluster, base, authority, log });
  return {
    controller,
    async close() {
      await forgotten(client, base).catch((error: unknown) =>
        log.warn("the configurations of our webhooks are still there; whoever writes clusters is refused", { error }),
      );
      await server.close();
    },
  };
}

/** Who may not even read configurations would wait for ever to keep them. */
async function hindranceTo(client: Client): Promise<string | undefined> {
  for (const kind of [ValidatingWebhookConfiguration, MutatingWebhookConfiguration] as Kind<Configuration>[]) {
    try {
      await client.list(kind, { limit: 1 });
    } catch (error) {
      if (isForbidden(error)) return error.message;
      throw error;
    }
  }
  return undefined;
}

/** They live as long as any process might: both go with it. */
function ownIdentity(host: string, now: Date): { pair: ServingPair; authority: string } {
  const ca = createCertificateAuthority({ commonName: "capstan-hub-webhooks", now });
  const { publicKey, privateKey } = generateKeyPair();
  const name = host.replace(/^\[|\]$/g, "");
  const isAddress = /^[\d.]+$|:/.test(name);
  const certificate = issueCertificate({
    ca,
    subject: { commonName: "capstan-hub" },
    publicKey,
    usages: ["digital signature", "key encipherment", "server auth"],
    ...(isAddress ? { ipAddresses: [name] } : { dnsNames: [name] }),
    notBefore: new Date(now.getTime() - 300_000),
    notAfter: new Date(now.getTime() + TEN_YEARS_MS),
  });
  return { pair: { certificate, key: privateKey }, authority: ca.certificate };
}

interface ConfigurationOptions {
  readonly cluster: Cluster;
  readonly base: string;
  readonly authority: string;
  readonly log: Logger;
}

type Configuration = KubeObject & { webhooks?: { clientConfig: WebhookClientConfig }[] };

function kindOf({ type }: HubWebhook): Kind<Configuration> {
  return type === "Mutating" ? MutatingWebhookConfiguration : ValidatingWebhookConfiguration;
}

/**
 * Keeps the configurations of our webhooks as they should be, unless an operator has its own there.
 *
 * Key     name of the configuration
 * Reads   ValidatingWebhookConfiguration, MutatingWebhookConfiguration
 * Writes  the same, under the four names that the hub has
 */
function configurationController({ cluster, base, authority, log }: ConfigurationOptions): Controller {
  const caches = new Map(HubWebhooks.map((webhook) => [webhook.type, cluster.cache(kindOf(webhook))]));
  const names = HubWebhooks.map(({ name }) => name);
  const said = new Set<string>();
  const sayOnce = (sentence: string) => {
    if (!said.has(sentence)) log.info(sentence);
    said.add(sentence);
  };
  let isCutOff = false;
  return {
    name: "hub-webhooks",
    triggers: [
      ...names.map((name) => atStart(name)),
      ...[...caches.values()].map((cache) =>
        cache.keyedBy(({ metadata }) => (names.includes(metadata.name) ? metadata.name : undefined)),
      ),
    ],
    async reconcile(name, { signal }) {
      const webhook = HubWebhooks.find((each) => each.name === name);
      if (!webhook) return done;
      const before = caches.get(webhook.type)?.get(name);
      if (before?.metadata.labels?.[OperatorLabel.createdByClusterManager] !== undefined) {
        sayOnce("admission webhooks are not served, because an operator has installed its own");
        return done;
      }
      if (isCutOff) return done;
      const { webhooks } = webhookConfiguration(webhook, clientConfigAt(base, webhook, authority));
      const wished = { ...(before ?? { metadata: { name } }), webhooks } as Configuration;
      try {
        await cluster.commit(kindOf(webhook), before, wished);
        isCutOff = await cannotReach(cluster.client, base, signal);
        sayOnce(
          isCutOff
            ? `admission webhooks are not served, because the API server does not reach ${base}; give --webhook-url`
            : `admission webhooks answer at ${base}`,
        );
        if (isCutOff) await forgotten(cluster.client, base);
      } catch (error) {
        if (!isForbidden(error)) throw error;
        sayOnce(
          `admission webhooks are not served, because the hub may not write their configurations: ${error.message}`,
        );
      }
      return done;
    },
  };
}

/**
 * An address of this machine may be that of a tunnel, or of a server in a network of its own, to which ours means
 * something else. A cluster that is never written tells.
 */
async function cannotReach(client: Client, base: string, signal: AbortSignal): Promise<boolean> {
  try {
    await client.create(ManagedCluster, { metadata: { name: "capstan-webhook-probe" } }, { dryRun: true, signal });
    return false;
  } catch (error) {
    return isKubeError(error) && error.message.includes(`${base}/`) && error.message.includes("connection refused");
  }
}

/** Removes those configurations that lead to us. */
async function forgotten(client: Client, base: string): Promise<void> {
  for (const webhook of HubWebhooks) {
    try {
      const kind = kindOf(webhook);
      const { metadata, webhooks = [] } = await client.get(kind, webhook.name);
      const isOurs = webhooks.some(({ clientConfig }) => clientConfig.url?.startsWith(`${base}/`));
      const { uid } = metadata;
      if (isOurs) await client.delete(kind, webhook.name, { ...(uid && { preconditions: { uid } }) });
    } catch (error) {
      if (!isNotFound(error) && !isForbidden(error)) throw error;
    }
  }
}
