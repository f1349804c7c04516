/** Which of a hub's webhooks can be asked, and how. */
import { managedClusterAddOnCrd } from "#api/addon";
import { MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from "#api/admissionregistration";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { ConfigMap, Service } from "#api/core";
import {
  type ClusterManager,
  HUB_NAMESPACE,
  HubWebhooks,
  WebhookCertificate,
  type WebhookProgram,
  WebhookService,
} from "#api/operator";
import type { Site } from "../kit/index.ts";
import { WEBHOOK_PROGRAMS, WebhookDeployment } from "./names.ts";
import type { Reached } from "./webhooks.ts";

/** Undefined while nothing proves who they are. */
export async function reachedWebhooks(
  { metadata }: ClusterManager,
  site: Site,
  signal: AbortSignal,
): Promise<Reached | undefined> {
  const bundle = await site.get(ConfigMap, `${HUB_NAMESPACE}/${WebhookCertificate.bundle}`, signal);
  const authorities = bundle?.data?.[WebhookCertificate.bundleKey];
  if (!authorities) return undefined;
  const programs = new Set<WebhookProgram>();
  const services: Partial<Record<WebhookProgram, Service>> = {};
  for (const program of WEBHOOK_PROGRAMS) {
    const service = await site.get(Service, `${HUB_NAMESPACE}/${WebhookService[program]}`, signal);
    if (service) services[program] = service;
    const key = `${HUB_NAMESPACE}/${WebhookDeployment[program].deployment(metadata.name)}` as const;
    const { availableReplicas = 0 } = (await site.get(Deployment, key, signal))?.status ?? {};
    if (availableReplicas > 0 || (await isAsked(program, site, signal))) programs.add(program);
  }
  return { authorities, programs, services };
}

/** Whoever was asked once is asked on: while its Pods start again nothing is let in unseen. */
async function isAsked(program: WebhookProgram, site: Site, signal: AbortSignal): Promise<boolean> {
  if (program === "addon") {
    return (await site.get(CustomResourceDefinition, managedClusterAddOnCrd.metadata.name, signal)) !== undefined;
  }
  for (const { name, type } of HubWebhooks.filter((each) => each.program === program)) {
    const kind = type === "Mutating" ? MutatingWebhookConfiguration : ValidatingWebhookConfiguration;
    if (await site.get(kind, name, signal)) return true;
  }
  return false;
}
