/** Composition roots of the webhooks of a hub: each is a server that API servers ask, and an identity to ask others with. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { join } from "node:path";
import { AddOnConversion } from "#api/addon";
import { Service } from "#api/core";
import type { Key } from "#api/meta";
import { WEBHOOK_URL_ANNOTATION, type WebhookProgram } from "#api/operator";
import { convert } from "#features/addons/conversion";
import { registrationWebhooks } from "#features/registration/webhooks";
import { workWebhooks } from "#features/work/webhook";
import { type Client, isNotFound } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import {
  admissionReviews,
  type Cluster,
  type Controller,
  connectedCluster,
  conversionReviews,
  done,
  type ReviewHandlers,
  runControllers,
  type ServingPair,
  serveWebhooks,
  type WebhookServer,
} from "#runtime";
import { followedFile, textOf } from "./followed.ts";
import { UserError } from "./user-error.ts";

export interface WebhookGates {
  /** Whether clusters that name no set belong to `default`. */
  readonly DefaultClusterSet: boolean;
  /** Whether works that name no executor need the right to act in the agent's name. */
  readonly NilExecutorValidating: boolean;
}

export interface WebhookOptions {
  readonly program: WebhookProgram;
  readonly client: Client;
  readonly gates: WebhookGates;
  /** Bytes of all manifests of a work together; 500 KiB unless told. */
  readonly manifestLimit?: number;
  /** Where to listen; an empty host means every address of this machine. */
  readonly address: { readonly host?: string; readonly port: number };
  /** The folder with `tls.crt` and `tls.key`; waited for, and followed. */
  readonly certificates: string;
  /** The Service by which it is found; told where it listens if the API server is on this machine. */
  readonly service?: { readonly namespace: string; readonly name: string };
  /** Hears where it listens. */
  readonly onListening?: (port: number) => void;
  /** Called when it can be asked. */
  readonly onReady?: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Answers until the signal. */
export async function runWebhook(options: WebhookOptions): Promise<void> {
  const { address, service, client, certificates, onReady, clock, log, signal } = options;
  const identity = await followedPair(certificates, { clock, log, signal });
  if (!identity) return; // asked to stop before there was one
  let server: WebhookServer | undefined;
  try {
    server = await listening({ ...address, pair: identity.first, handlers: handlersOf(options) });
    identity.follow(renewing(server, log));
    options.onListening?.(server.port);
    if (service && isOnThisMachine(client.server)) {
      await announced({ ...options, service, url: `https://127.0.0.1:${server.port}` });
    } else {
      onReady?.();
      await fired(signal);
    }
  } finally {
    identity.stop();
    await server?.close();
  }
}

/** Throws UserError where nobody can listen. */
export async function listening(options: Parameters<typeof serveWebhooks>[0]): Promise<WebhookServer> {
  try {
    return await serveWebhooks(options);
  } catch (error) {
    const { code = "", syscall } = error as NodeJS.ErrnoException;
    if (syscall !== "listen" && syscall !== "getaddrinfo") throw error;
    const { host = "127.0.0.1", port } = options;
    const why = { EADDRINUSE: "it is taken", EACCES: "permission denied", ENOTFOUND: "no such host" }[code] ?? code;
    throw new UserError(
      `cannot listen for API servers at ${host || "any address"} port ${port}: ${why}; choose another --webhook-address`,
    );
  }
}

/** What a program answers, by path. */
function handlersOf({ program, client, gates, manifestLimit, clock, log }: WebhookOptions): ReviewHandlers {
  switch (program) {
    case "registration":
      return registrationHandlers({ client, gates, clock, log });
    case "work":
      return workHandlers({ client, gates, log, ...(manifestLimit !== undefined && { manifestLimit }) });
    case "addon":
      return { [AddOnConversion.path]: conversionReviews(convert) };
  }
}

export function registrationHandlers({
  client,
  gates,
  clock,
  log,
}: Pick<WebhookOptions, "client" | "gates" | "clock" | "log">): ReviewHandlers {
  return admissionReviews(registrationWebhooks({ client, defaultSet: gates.DefaultClusterSet, clock }), log);
}

export function workHandlers({
  client,
  gates,
  manifestLimit,
  log,
}: Pick<WebhookOptions, "client" | "gates" | "manifestLimit" | "log">): ReviewHandlers {
  const nilExecutor = gates.NilExecutorValidating;
  const limit = manifestLimit === undefined ? {} : { limit: manifestLimit };
  return admissionReviews(workWebhooks({ client, nilExecutor, ...limit }), log);
}

/** Whether an API server is on the machine that we are on, as far as its address tells. */
export function isOnThisMachine(server: string): boolean {
  const host = new URL(server).hostname;
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

interface Identity {
  readonly first: ServingPair;
  /** Hears of every pair that takes its place. */
  follow(tell: (pair: ServingPair) => void): void;
  stop(): void;
}

/** Undefined when asked to stop before there was one. */
function followedPair(
  folder: string,
  { clock, log, signal }: Pick<WebhookOptions, "clock" | "log" | "signal">,
): Promise<Identity | undefined> {
  const file = join(folder, "tls.crt");
  const read = async () => {
    const [certificate, key] = await Promise.all([textOf(file), textOf(join(folder, "tls.key"))]);
    return certificate && key && belongTogether(certificate, key) ? { certificate, key } : undefined;
  };
  const fail = (error: unknown) => log.warn("the certificate cannot be read", { folder, error });
  return new Promise((resolve) => {
    let newest: ServingPair | undefined;
    let tell: (pair: ServingPair) => void = () => {};
    const stop = followedFile<ServingPair>({ file, read, fail, clock })((pair) => {
      if (!pair) {
        if (!newest) log.info("waiting for a certificate", { folder });
        return;
      }
      if (pair.certificate === newest?.certificate) return;
      const isFirst = newest === undefined;
      newest = pair;
      if (!isFirst) return tell(pair);
      const follow = (next: typeof tell) => {
        tell = next;
        if (newest && newest !== pair) next(newest);
      };
      resolve({ first: pair, follow, stop });
    });
    const end = () => {
      if (!newest) stop();
      resolve(undefined);
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

/** While one of two files is replaced they are of two lives. */
function belongTogether(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function renewing(server: WebhookServer, log: Logger): (pair: ServingPair) => void {
  return (pair) => {
    try {
      server.renew(pair);
      log.info("a new certificate is shown from now on");
    } catch (error) {
      log.warn("a new certificate cannot be used, and the one before is shown on", { error });
    }
  };
}

type Announced = WebhookOptions & { readonly service: { namespace: string; name: string }; readonly url: string };

/** Says on the Service where we listen, until the signal. */
async function announced(options: Announced): Promise<void> {
  const { client, clock, log, signal } = options;
  const cluster = connectedCluster({ name: "hub", client, clock, log });
  await runControllers({ controllers: [addressController(cluster, options)], clock, log, signal });
  await withdrawn(cluster, options).catch((error: unknown) =>
    log.warn("the Service still says that we listen", { error }),
  );
}

/**
 * Of several programs behind one Service the one that started last is asked, and when it ends, one of the others.
 *
 * Key     Service
 * Reads   Service
 * Writes  Service annotation webhook.capstan.dev/url
 */
function addressController(cluster: Cluster, { service, url, onReady, log }: Announced): Controller {
  const { namespace, name } = service;
  const services = cluster.cache(Service, { namespace, fieldSelector: `metadata.name=${name}` });
  let isKnown = false;
  return {
    name: "webhook-address",
    triggers: [services.keyedBy(() => name)],
    async reconcile(_, { signal }) {
      const found = services.get(keyOf(service));
      const said = found?.metadata.annotations?.[WEBHOOK_URL_ANNOTATION];
      if (!found || (isKnown && said !== undefined)) return done;
      if (said !== url) await say(cluster.client, service, url, signal);
      if (!isKnown) log.info("API servers of this machine ask us", { url });
      isKnown = true;
      onReady?.();
      return done;
    },
  };
}

/** A server that goes at the same time is not waited for. */
const FAREWELL_MS = 2_000;

/** Takes back what we have said, unless somebody else has said something since. */
async function withdrawn({ client }: Cluster, { service, url }: Announced): Promise<void> {
  const signal = AbortSignal.timeout(FAREWELL_MS);
  try {
    const { metadata } = await client.get(Service, keyOf(service), { signal });
    if (metadata.annotations?.[WEBHOOK_URL_ANNOTATION] === url) await say(client, service, null, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function say(
  client: Client,
  service: Announced["service"],
  url: string | null,
  signal: AbortSignal,
): Promise<void> {
  const annotations = { [WEBHOOK_URL_ANNOTATION]: url };
  await client.patch(Service, keyOf(service), { metadata: { annotations } }, { type: "merge", signal });
}

function keyOf({ namespace, name }: Announced["service"]): Key<Service> {
  return `${namespace}/${name}` as Key<Service>;
}

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
