/** The programs that answer for a hub before something is written, and what API servers are told of them. */
import { AddOnConversion } from "#api/addon";
import type { WebhookClientConfig } from "#api/admissionregistration";
import { Service } from "#api/core";
import type { DynamicObject } from "#api/meta";
import {
  type ClusterManager,
  HUB_NAMESPACE,
  HubWebhooks,
  WEBHOOK_PORT,
  WEBHOOK_URL_ANNOTATION,
  WebhookCertificate,
  type WebhookProgram,
  WebhookService,
} from "#api/operator";
import {
  clientConfigAt,
  clusterRights,
  complete,
  type DeploymentOptions,
  deployment,
  gateArguments,
  HubGates,
  HubWorkGates,
  imageFor,
  localRights,
  serviceAccount,
  webhookConfiguration,
} from "../kit/index.ts";
import { WebhookDeployment } from "./names.ts";
import { webhookRights, webhookServiceRights } from "./rights.ts";

/** What of Pods does not depend on the program. */
export type CommonPods = Pick<
  DeploymentOptions,
  "namespace" | "replicas" | "resources" | "nodePlacement" | "labels" | "env"
>;

export interface WebhookProgramOptions {
  readonly program: WebhookProgram;
  /** Our own image. */
  readonly image: string;
  readonly pods: CommonPods;
  /** How the gates of registration stand, and those of works. */
  readonly gates: Readonly<Record<string, boolean>>;
  readonly workGates: Readonly<Record<string, boolean>>;
}

/** A program, who it is, what it may do, and the Service that leads to it. */
export function webhookProgram(manager: ClusterManager, options: WebhookProgramOptions): DynamicObject[] {
  const { program } = options;
  const { account, role } = WebhookDeployment[program];
  const name = role(manager.metadata.name);
  const rights = webhookRights(program);
  return [
    serviceAccount(account),
    ...(rights.length > 0 ? clusterRights(name, rights, [account]) : []),
    ...localRights({ name, namespace: HUB_NAMESPACE }, webhookServiceRights(program), [account]),
    serviceOf(manager, program),
    programOf(manager, options),
  ];
}

/** On an embedded server: while Pods are only simulated nobody answers, and nothing is let in. */
const NOBODY_ANSWERS = { "simulate.capstan.dev/webhook": "absent" };

function serviceOf({ metadata, spec }: ClusterManager, program: WebhookProgram): DynamicObject {
  const { port } = bindingOf(spec, program);
  return complete(Service, {
    metadata: { name: WebhookService[program], namespace: HUB_NAMESPACE, annotations: NOBODY_ANSWERS },
    spec: {
      selector: { app: WebhookDeployment[program].deployment(metadata.name) },
      ports: [{ name: "webhook", protocol: "TCP", port, targetPort: port }],
    },
  });
}

const CERTIFICATES = "/etc/capstan/webhook";

function programOf(manager: ClusterManager, options: WebhookProgramOptions): DynamicObject {
  const { program, image, pods } = options;
  const { metadata, spec } = manager;
  const { port, healthProbePort, metricsPort, hostNetwork } = bindingOf(spec, program);
  const name = WebhookDeployment[program].deployment(metadata.name);
  return deployment({
    ...pods,
    name,
    app: name,
    container: name,
    image: imageFor(imageOf(spec, program), image),
    serviceAccount: WebhookDeployment[program].account.name,
    args: [
      "webhook",
      program,
      `--webhook-address=:${port}`,
      `--certificate-dir=${CERTIFICATES}`,
      `--service=${HUB_NAMESPACE}/${WebhookService[program]}`,
      ...gatesFor(options),
      ...(metricsPort > 0 ? [`--metrics-address=:${metricsPort}`] : []),
    ],
    hasReadiness: healthProbePort > 0,
    health: { port: healthProbePort, flag: "--health-address" },
    ports: [
      { name: "webhook", containerPort: port },
      ...(metricsPort > 0 ? [{ name: "metrics", containerPort: metricsPort }] : []),
    ],
    hostNetwork,
    volumes: [{ name: "certificate", secret: { secretName: WebhookCertificate.serving[program] } }],
    mounts: [{ name: "certificate", mountPath: CERTIFICATES, readOnly: true }],
  });
}

function imageOf(spec: ClusterManager["spec"], program: WebhookProgram): string | undefined {
  const { registrationImagePullSpec: registration, workImagePullSpec: work } = spec ?? {};
  return { registration, work, addon: spec?.addOnManagerImagePullSpec }[program];
}

/** Each is told of the gates that concern it. */
function gatesFor({ program, gates, workGates }: WebhookProgramOptions): string[] {
  const { DefaultClusterSet = true } = HubGates;
  if (program === "work") {
    const { NilExecutorValidating = false } = HubWorkGates;
    return gateArguments({ NilExecutorValidating }, workGates);
  }
  if (program === "addon") return [];
  return gateArguments({ DefaultClusterSet }, { DefaultClusterSet: gates.DefaultClusterSet ?? DefaultClusterSet });
}

/** Where its Pods listen. A server fills in these defaults; whoever reads an older object finds them here. */
function bindingOf(spec: ClusterManager["spec"], program: WebhookProgram) {
  const { registrationWebhookConfiguration: registration, workWebhookConfiguration: work } =
    spec?.deployOption?.default ?? {};
  const addon = spec?.deployOption?.default?.addonWebhookConfiguration;
  const { bindConfiguration = {} } = { registration, work, addon }[program] ?? {};
  const { port = WEBHOOK_PORT, healthProbePort, metricsPort, hostNetwork } = bindConfiguration;
  return {
    port: port > 0 ? port : WEBHOOK_PORT,
    healthProbePort: healthProbePort ?? 8000,
    metricsPort: metricsPort ?? 8080,
    hostNetwork: hostNetwork ?? false,
  };
}

/** How the programs are reached now. */
export interface Reached {
  /** PEM of all authorities that may have signed what they show. */
  readonly authorities: string;
  /** Those that answer, or have been asked before: from then on nothing is let in that they have not seen. */
  readonly programs: ReadonlySet<WebhookProgram>;
  /** Their Services, as they are. */
  readonly services: Readonly<Partial<Record<WebhookProgram, Service>>>;
}

export function webhookConfigurations({ spec }: ClusterManager, reached: Reached): DynamicObject[] {
  return HubWebhooks.filter(({ program }) => reached.programs.has(program)).map((webhook) =>
    webhookConfiguration(webhook, clientConfigOf(webhook, spec, reached)),
  );
}

/** Who converts add-ons; undefined while nobody can. */
export function addOnConverter(
  { spec }: ClusterManager,
  reached: Reached | undefined,
): WebhookClientConfig | undefined {
  if (!reached?.programs.has("addon")) return undefined;
  return clientConfigOf({ program: "addon", path: AddOnConversion.path }, spec, reached);
}

function clientConfigOf(
  webhook: { readonly program: WebhookProgram; readonly path: string },
  spec: ClusterManager["spec"],
  { services, authorities }: Reached,
): WebhookClientConfig {
  const { program, path } = webhook;
  const url = services[program]?.metadata.annotations?.[WEBHOOK_URL_ANNOTATION];
  if (url !== undefined && isOwnMachine(url)) return clientConfigAt(url, webhook, authorities);
  const { port } = bindingOf(spec, program);
  return {
    service: { namespace: HUB_NAMESPACE, name: WebhookService[program], path, port },
    caBundle: Buffer.from(authorities).toString("base64"),
  };
}

/** Whoever may write the Service must not lead an API server elsewhere than to its own machine. */
function isOwnMachine(url: string): boolean {
  return /^https:\/\/127\.\d{1,3}\.\d{1,3}\.\d{1,3}:\d{1,5}$/.test(url);
}
