/** The agents of a Klusterlet, where they run: one Deployment for each, or one for both. */
import type { DynamicObject } from "#api/meta";
import { OperatorSecret } from "#api/operator";
import {
  type DeploymentOptions,
  deployment,
  gateArguments,
  imageFor,
  KlusterletGates,
  localRights,
  namespace,
  resourcesOf,
  SpokeGates,
  SpokeWorkGates,
  serviceAccount,
  type VolumeMount,
} from "../kit/index.ts";
import { MANAGEMENT } from "./managed-objects.ts";
import { Account, AgentApp, AgentDeployment, ManagedSecret, ManagementRole } from "./names.ts";
import { electionRules, identityRules } from "./rights.ts";
import type { KlusterletWish } from "./wish.ts";

export interface AgentsOptions {
  /** Capstan's own image, where the Klusterlet names none. */
  readonly image: string;
  /** Of each agent. */
  readonly replicas: number;
  /** Whether there is an identity to work with. Without one the work agent has nothing to do, and does not run. */
  readonly hasIdentity: boolean;
  /** Of the Deployments and of their Pods. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Who the agents are where they run, and what they may do there; in hosted mode also their namespace. */
export function managementObjects(wish: KlusterletWish): DynamicObject[] {
  const { name, agentNamespace } = wish;
  const registration = { name: Account.registration(wish), namespace: agentNamespace };
  const work = { name: Account.work(wish), namespace: agentNamespace };
  const rights = [
    ...localRights(
      { name: ManagementRole.registration(name), namespace: agentNamespace },
      [...identityRules, ...electionRules],
      [registration],
    ),
    ...localRights({ name: ManagementRole.work(name), namespace: agentNamespace }, electionRules, [work]),
  ];
  if (!wish.isHosted) return rights; // accounts and namespace are those on the managed cluster
  return [namespace(agentNamespace, MANAGEMENT), serviceAccount(registration), serviceAccount(work), ...rights];
}

export function agentDeployments(wish: KlusterletWish, options: AgentsOptions): DynamicObject[] {
  if (wish.isSingleton) return [singletonAgent(wish, options)];
  return [registrationAgent(wish, options), workAgent(wish, options)];
}

function registrationAgent(wish: KlusterletWish, options: AgentsOptions): DynamicObject {
  const { mounts, volumes } = volumesOf(wish, [BOOTSTRAP], ManagedSecret.registration);
  return deployment({
    ...podSettings(wish, options),
    name: AgentDeployment.registration(wish.name),
    app: AgentApp.registration,
    container: "registration-controller",
    image: imageFor(wish.spec.registrationImagePullSpec, options.image),
    args: [
      "agent",
      "registration",
      ...registrationArguments(wish),
      ...gateArguments(SpokeGates, wish.gates.registration.gates),
      ...electionArguments(options),
    ],
    serviceAccount: Account.registration(wish),
    replicas: options.replicas,
    mounts,
    volumes,
  });
}

function workAgent(wish: KlusterletWish, options: AgentsOptions): DynamicObject {
  const { mounts, volumes } = volumesOf(wish, [IDENTITY], ManagedSecret.work);
  return deployment({
    ...podSettings(wish, options),
    name: AgentDeployment.work(wish.name),
    app: AgentApp.work,
    container: "klusterlet-manifestwork-agent",
    image: imageFor(wish.spec.workImagePullSpec, options.image),
    args: [
      "agent",
      "work",
      ...sharedArguments(wish),
      `--hub-kubeconfig=${IDENTITY.path}/kubeconfig`,
      `--agent-id=${wish.uid}`,
      ...workArguments(wish),
      ...gateArguments(SpokeWorkGates, wish.gates.work.gates),
      ...electionArguments(options),
    ],
    serviceAccount: Account.work(wish),
    replicas: options.hasIdentity ? options.replicas : 0,
    mounts,
    volumes,
  });
}

function singletonAgent(wish: KlusterletWish, options: AgentsOptions): DynamicObject {
  const { mounts, volumes } = volumesOf(wish, [BOOTSTRAP]);
  return deployment({
    ...podSettings(wish, options),
    name: AgentDeployment.singleton(wish.name),
    app: AgentApp.singleton,
    container: "klusterlet-agent",
    image: imageFor(wish.spec.imagePullSpec, options.image),
    args: [
      "agent",
      ...registrationArguments(wish),
      `--agent-id=${wish.uid}`,
      ...workArguments(wish),
      ...gateArguments(KlusterletGates, { ...wish.gates.registration.gates, ...wish.gates.work.gates }),
      ...electionArguments(options),
    ],
    serviceAccount: Account.work(wish),
    replicas: options.replicas,
    mounts,
    volumes,
  });
}

function workArguments({ spec }: KlusterletWish): string[] {
  const { appliedManifestWorkEvictionGracePeriod: grace } = spec.workConfiguration ?? {};
  return grace ? [`--appliedmanifestwork-eviction-grace-period=${grace}`] : [];
}

interface Mounted {
  readonly name: string;
  readonly path: string;
  readonly secret: string;
}

const BOOTSTRAP: Mounted = { name: "bootstrap-secret", path: "/spoke/bootstrap", secret: OperatorSecret.bootstrap };
const IDENTITY: Mounted = { name: "hub-kubeconfig-secret", path: "/spoke/hub-kubeconfig", secret: OperatorSecret.hub };
const SPOKE = { name: "spoke-kubeconfig-secret", path: "/spoke/config" } as const;

function sharedArguments({ clusterName, agentNamespace, isHosted }: KlusterletWish): string[] {
  return [
    ...(clusterName === "" ? [] : [`--cluster-name=${clusterName}`]),
    `--namespace=${agentNamespace}`,
    ...(isHosted ? ["--hosted", `--spoke-kubeconfig=${SPOKE.path}/kubeconfig`] : []),
  ];
}

function registrationArguments(wish: KlusterletWish): string[] {
  const { spec, isHosted, namespace: spokeNamespace, grantAccess } = wish;
  const { registrationConfiguration: registration = {}, externalServerURLs = [] } = spec;
  const { clientCertExpirationSeconds: seconds = 0, clusterClaimConfiguration: claims } = registration;
  const urls = externalServerURLs.map(({ url }) => url).filter((url) => url !== "");
  const annotations = Object.entries(registration.clusterAnnotations ?? {})
    .filter(([key]) => key.startsWith(AGENT_ANNOTATION))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`);
  const suffixes = claims?.reservedClusterClaimSuffixes ?? [];
  return [
    ...sharedArguments(wish),
    `--bootstrap-kubeconfig=${BOOTSTRAP.path}/kubeconfig`,
    ...(isHosted ? [`--spoke-namespace=${spokeNamespace}`] : []),
    ...(urls.length > 0 ? [`--spoke-external-server-urls=${urls.join(",")}`] : []),
    ...(seconds > 0 ? [`--client-cert-expiration-seconds=${seconds}`] : []),
    ...(annotations.length > 0 ? [`--cluster-annotations=${annotations.join(",")}`] : []),
    ...(claims ? [`--max-custom-cluster-claims=${claims.maxCustomClusterClaims}`] : []),
    ...(suffixes.length > 0 ? [`--reserved-cluster-claim-suffixes=${suffixes.join(",")}`] : []),
    ...(grantAccess === undefined ? [] : [`--grant-access=${grantAccess}`]),
  ];
}

/** The only annotations of a ManagedCluster that are an agent's business. */
const AGENT_ANNOTATION = "agent.open-cluster-management.io";

function electionArguments({ replicas }: AgentsOptions): string[] {
  return replicas > 1 ? ["--leader-elect"] : [];
}

function volumesOf(
  { isHosted }: KlusterletWish,
  mounted: readonly Mounted[],
  managedSecret?: string,
): { mounts: VolumeMount[]; volumes: NonNullable<DeploymentOptions["volumes"]> } {
  const all = [...mounted, ...(isHosted && managedSecret ? [{ ...SPOKE, secret: managedSecret }] : [])];
  return {
    mounts: all.map(({ name, path }) => ({ name, mountPath: path, readOnly: true })),
    volumes: all.map(({ name, secret }) => ({ name, secret: { secretName: secret } })),
  };
}

function podSettings({ spec, agentNamespace }: KlusterletWish, { labels }: AgentsOptions) {
  const { nodePlacement, resourceRequirement, priorityClassName, hubApiServerHostAlias: alias } = spec;
  return {
    namespace: agentNamespace,
    hasReadiness: true,
    labels,
    // A Pod that starts again takes the lead again at once if it is known by its name.
    env: [{ name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
    resources: resourcesOf(resourceRequirement),
    nodePlacement,
    priorityClassName,
    hostAliases: alias ? [{ ip: alias.ip, hostnames: [alias.hostname] }] : [],
  };
}
