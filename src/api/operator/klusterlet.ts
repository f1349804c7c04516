/** Klusterlet: the agents of a spoke, as one asks for them. */
import { crd } from "#api/apiextensions";
import { type KubeObject, kind } from "#api/meta";
import { type Infer, int32, int64, list, mapOf, object, oneOf, optional, string } from "#api/schema";
import { OPERATOR_GROUP } from "./names.ts";
import {
  EKS_CLUSTER,
  featureGates,
  HOST_NAME,
  nodePlacement,
  type OperatorStatus,
  operatorStatus,
  resourceRequirement,
  serverUrl,
} from "./pieces.ts";

/** Seconds, minutes and hours, one after the other. */
const duration = optional(string({ pattern: "^([0-9]+(s|m|h))+$" }));
const perSecond = optional(int32({ default: 50 }));
const atOnce = optional(int32({ default: 100 }));

const clusterArn = string({ minLength: 1, pattern: EKS_CLUSTER });

const registrationConfiguration = object({
  clientCertExpirationSeconds: optional(int32({ description: "0 leaves it to the signer." })),
  featureGates: optional(featureGates),
  clusterAnnotations: optional(
    mapOf(string(), { description: "Those that start with agent.open-cluster-management.io, for the ManagedCluster." }),
  ),
  clusterLabels: optional(mapOf(string())),
  kubeAPIQPS: perSecond,
  kubeAPIBurst: atOnce,
  bootstrapKubeConfigs: optional(
    object({
      type: oneOf(["None", "LocalSecrets"], { default: "None" }),
      localSecretsConfig: optional(
        object({
          kubeConfigSecrets: list(object({ name: string() })),
          hubConnectionTimeoutSeconds: optional(int32({ default: 600, minimum: 180 })),
        }),
      ),
    }),
  ),
  registrationDriver: optional(
    object({
      authType: oneOf(["csr", "awsirsa", "grpc"], { default: "csr" }),
      awsIrsa: optional(object({ hubClusterArn: clusterArn, managedClusterArn: clusterArn })),
    }),
  ),
  addOnKubeClientRegistrationDriver: optional(
    object({
      authType: optional(oneOf(["csr", "token"])),
      token: optional(object({ expirationSeconds: optional(int64()) })),
    }),
  ),
  clusterClaimConfiguration: optional(
    object({
      maxCustomClusterClaims: int32({ default: 20 }),
      reservedClusterClaimSuffixes: optional(list(string({ minLength: 1, maxLength: 64 }), { maxItems: 10 })),
    }),
  ),
});

const workConfiguration = object({
  featureGates: optional(featureGates),
  kubeAPIQPS: perSecond,
  kubeAPIBurst: atOnce,
  hubKubeAPIQPS: perSecond,
  hubKubeAPIBurst: atOnce,
  appliedManifestWorkEvictionGracePeriod: duration,
  statusSyncInterval: duration,
});

/** What `deployOption.mode` may say; the server takes any word, so whoever reads it has to look. */
export const KlusterletMode = {
  default: "Default",
  hosted: "Hosted",
  singleton: "Singleton",
  singletonHosted: "SingletonHosted",
} as const;

const octet = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)";

const spec = object({
  namespace: optional(string({ maxLength: 57, pattern: "^open-cluster-management-[-a-z0-9]*[a-z0-9]$" })),
  registrationImagePullSpec: optional(string()),
  workImagePullSpec: optional(string()),
  imagePullSpec: optional(string({ description: "The image where both agents are one program." })),
  clusterName: optional(string({ maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" })),
  externalServerURLs: optional(list(serverUrl)),
  nodePlacement: optional(nodePlacement),
  deployOption: optional(object({ mode: optional(string()) })),
  registrationConfiguration: optional(registrationConfiguration),
  workConfiguration: optional(workConfiguration),
  hubApiServerHostAlias: optional(
    object({ ip: string({ pattern: `^(?:${octet}\\.){3}${octet}$` }), hostname: string({ pattern: HOST_NAME }) }),
  ),
  resourceRequirement: optional(resourceRequirement),
  priorityClassName: optional(string()),
});
export type KlusterletSpec = Infer<typeof spec>;

export interface Klusterlet extends KubeObject {
  spec?: KlusterletSpec;
  status?: OperatorStatus;
}
export const Klusterlet = kind<Klusterlet>({
  group: OPERATOR_GROUP,
  version: "v1",
  kind: "Klusterlet",
  plural: "klusterlets",
  namespaced: false,
});

export const klusterletCrd = crd({
  group: OPERATOR_GROUP,
  names: { kind: "Klusterlet", plural: "klusterlets" },
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
