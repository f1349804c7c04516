/** ClusterManager: the hub's programs, as one asks for them. */
import { crd } from "#api/apiextensions";
import { type KubeObject, kind } from "#api/meta";
import {
  boolean,
  bytes,
  type Infer,
  int32,
  list,
  listByKey,
  object,
  oneOf,
  optional,
  type Shape,
  string,
} from "#api/schema";
import { OPERATOR_GROUP } from "./names.ts";
import {
  EKS_CLUSTER,
  featureGates,
  HOST_NAME,
  nodePlacement,
  type OperatorStatus,
  operatorStatus,
  resourceRequirement,
} from "./pieces.ts";

const port = (byDefault: number) => optional(int32({ default: byDefault, maximum: 65535 }));

const bindConfiguration = object(
  {
    port: port(9443),
    healthProbePort: port(8000),
    metricsPort: port(8080),
    hostNetwork: optional(boolean()),
  },
  { description: "Where a webhook's Pods listen; a port of 0 or less turns probes or metrics off." },
);
const webhook = object({ bindConfiguration: optional(bindConfiguration) });
const hostedWebhook = object({
  address: string({ pattern: HOST_NAME }),
  port: port(443),
  bindConfiguration: optional(bindConfiguration),
});

const deployOption = object(
  {
    mode: oneOf(["Default", "Hosted"], { default: "Default" }),
    default: optional(
      object({
        registrationWebhookConfiguration: optional(webhook),
        workWebhookConfiguration: optional(webhook),
        addonWebhookConfiguration: optional(webhook),
      }),
    ),
    hosted: optional(
      object({
        registrationWebhookConfiguration: optional(hostedWebhook),
        workWebhookConfiguration: optional(hostedWebhook),
      }),
    ),
  },
  { default: { mode: "Default" } },
);

const identities = optional(list(string(), { description: "Who need not be accepted by an administrator." }));
const registrationDriver = object({
  authType: oneOf(["csr", "awsirsa", "grpc"], { default: "csr" }),
  csr: optional(object({ autoApprovedIdentities: identities })),
  awsirsa: optional(
    object({
      hubClusterArn: optional(string({ pattern: EKS_CLUSTER })),
      autoApprovedIdentities: identities,
      tags: optional(list(string())),
    }),
  ),
  grpc: optional(object({ autoApprovedIdentities: identities })),
});

const configuration = object({ featureGates: optional(featureGates) });

const registrationConfiguration = object({
  autoApproveUsers: optional(list(string(), { description: "The older place of the csr driver's identities." })),
  featureGates: optional(featureGates),
  importerConfiguration: optional(object({ renderers: optional(list(string())) })),
  registrationDrivers: optional(listByKey(registrationDriver, ["authType"])),
});

const workConfiguration = object(
  {
    featureGates: optional(featureGates),
    workDriver: optional(oneOf(["kube", "mqtt", "grpc"], { default: "kube" })),
  },
  { default: { workDriver: "kube" } },
);

const exposed = { host: optional(string()), caBundle: optional(bytes()) };
const endpoint = object({
  type: oneOf(["hostname", "loadBalancer", "route"], { default: "hostname" }),
  hostname: optional(object({ ...exposed, host: string() })),
  loadBalancer: optional(object(exposed)),
  route: optional(object(exposed)),
});
const serverConfiguration = object({
  imagePullSpec: optional(string()),
  featureGates: optional(featureGates),
  endpointsExposure: optional(
    list(
      object({
        usage: optional(string()),
        protocol: oneOf(["grpc", "https"], { default: "grpc" }),
        grpc: optional(endpoint),
        https: optional(endpoint),
      }),
    ),
  ),
});

/** An image of upstream's stands for the operator's own: these defaults are part of the published API. */
const image = (name: string): Shape<string> => string({ default: `quay.io/open-cluster-management/${name}` });

const spec = object(
  {
    registrationImagePullSpec: optional(image("registration")),
    workImagePullSpec: optional(image("work")),
    placementImagePullSpec: optional(image("placement")),
    addOnManagerImagePullSpec: optional(image("addon-manager")),
    nodePlacement: optional(nodePlacement),
    deployOption: optional(deployOption),
    registrationConfiguration: optional(registrationConfiguration),
    workConfiguration: optional(workConfiguration),
    addOnManagerConfiguration: optional(configuration),
    placementConfiguration: optional(configuration),
    serverConfiguration: optional(serverConfiguration),
    resourceRequirement: optional(resourceRequirement),
  },
  { default: { deployOption: { mode: "Default" } } },
);
export type ClusterManagerSpec = Infer<typeof spec>;

export interface ClusterManager extends KubeObject {
  spec?: ClusterManagerSpec;
  status?: OperatorStatus;
}
export const ClusterManager = kind<ClusterManager>({
  group: OPERATOR_GROUP,
  version: "v1",
  kind: "ClusterManager",
  plural: "clustermanagers",
  namespaced: false,
});

export const clusterManagerCrd = crd({
  group: OPERATOR_GROUP,
  names: { kind: "ClusterManager", plural: "clustermanagers" },
  scope: "Cluster",
  versions: [
    {
      name: "v1",
      served: true,
      storage: true,
      status: true,
      schema: object({ spec: optional(spec), status: optional(operatorStatus) }).schema,
    },
  ],
});
