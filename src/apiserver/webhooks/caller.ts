/** Calls webhooks as their configurations name them: by URL, or by the Service that leads to them. */
import type { WebhookClientConfig, WebhookService } from "#api/admissionregistration";
import { CallFailure, type CallLimits, type Destination, postFailure, type WebhookClient } from "./client.ts";
import { isPem } from "./client-config.ts";
import { locateService, type ObjectLookup, type SimulatedAnswer } from "./locate.ts";

/** What a webhook answered, or what its Service is to answer in its place. */
export type Called =
  | { readonly answer: unknown }
  | {
      readonly simulated: SimulatedAnswer;
      /** `namespace/name`. */
      readonly service: string;
    };

export interface WebhookCaller {
  /** Throws CallFailure. */
  call(config: WebhookClientConfig, body: unknown, limits: CallLimits): Promise<Called>;
  /** The Service that would answer for a webhook whose Pods are all simulated; undefined where somebody answers. */
  simulatedService(config: WebhookClientConfig): string | undefined;
}

const HTTPS = 443;

export function createWebhookCaller(client: WebhookClient, store: ObjectLookup): WebhookCaller {
  return {
    async call(config, body, limits) {
      const { service } = config;
      if (!service) return { answer: await client.call(toUrl(config), body, limits) };
      const location = locateService(store, { ...service, port: service.port ?? HTTPS });
      if ("simulated" in location) return { simulated: location.simulated, service: nameOf(service) };
      const destination = toService(config, service);
      if ("missing" in location) throw postFailure(destination, limits, location.missing);
      return { answer: await client.call({ ...destination, endpoint: location.endpoint }, body, limits) };
    },
    simulatedService({ service }) {
      if (!service) return undefined;
      return "simulated" in locateService(store, { ...service, port: service.port ?? HTTPS })
        ? nameOf(service)
        : undefined;
    },
  };
}

function nameOf({ namespace, name }: WebhookService): string {
  return `${namespace}/${name}`;
}

function toUrl({ url = "", caBundle }: WebhookClientConfig): Destination {
  return { url, ...authorityIn(caBundle) };
}

function toService({ caBundle }: WebhookClientConfig, service: WebhookService): Destination {
  const { name, namespace, port = HTTPS, path = "" } = service;
  return { url: `https://${name}.${namespace}.svc:${port}${path}`, ...authorityIn(caBundle) };
}

function authorityIn(caBundle = ""): { authority?: string } {
  const authority = Buffer.from(caBundle, "base64").toString("utf8").trim();
  if (authority === "") return {};
  if (isPem(authority)) return { authority };
  throw new CallFailure("unable to load root certificates: unable to parse bytes as PEM block");
}
