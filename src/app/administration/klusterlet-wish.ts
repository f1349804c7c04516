/** The Klusterlet that a join asks for, and what goes with it. Pure. */
import { createHash } from "node:crypto";
import { ClusterAnnotation } from "#api/cluster";
import { Namespace, Secret } from "#api/core";
import { apiVersionOf, type KubeObject } from "#api/meta";
import {
  AGENT_NAMESPACE,
  type FeatureGate,
  type Klusterlet,
  KlusterletMode,
  type KlusterletSpec,
  OperatorName,
  OperatorSecret,
  type ResourceRequirement,
} from "#api/operator";
import { SpokeGates, SpokeWorkGates, withGates } from "#features/operator/kit";
import { type Draft, type Kubeconfig, kubeconfigText } from "#kube";
import type { Endpoint } from "./cluster-info.ts";

export type JoinMode = "default" | "singleton" | "hosted";

export interface KlusterletWish {
  readonly clusterName: string;
  readonly mode: JoinMode;
  /** The spoke as others reach it: told to the hub. */
  readonly endpoint: Endpoint | undefined;
  readonly featureGates?: readonly FeatureGate[];
  readonly resources?: ResourceRequirement;
  readonly clientCertExpirationSeconds?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  /** A ClusterRole of the spoke that those have who reach it through the inventory. */
  readonly grantAccess?: string;
}

/** What a Klusterlet and its agents are called and where they are. */
export interface KlusterletPlace {
  readonly name: string;
  /** Where the agents run. */
  readonly agentNamespace: string;
  /** Where the Klusterlet keeps its things on the managed cluster. */
  readonly namespace: string;
}

const MODES = {
  default: KlusterletMode.default,
  singleton: KlusterletMode.singleton,
  hosted: KlusterletMode.hosted,
} as const;

/**
 * A cluster hosts the agents of many others, so theirs are named after them: the same cluster gets the same name
 * again, and a join that was interrupted goes on where it was.
 */
export function placeOf(clusterName: string, mode: JoinMode): KlusterletPlace {
  if (mode !== "hosted")
    return { name: OperatorName.klusterlet, agentNamespace: AGENT_NAMESPACE, namespace: AGENT_NAMESPACE };
  const suffix = createHash("sha256").update(clusterName).digest("hex").slice(0, 6);
  const name = `klusterlet-hosted-${suffix}`;
  return { name, agentNamespace: name, namespace: `open-cluster-management-${name}` };
}

/** What the flags do not speak of stays as it is. */
export function klusterletWish(
  existing: Klusterlet | undefined,
  { name, namespace }: KlusterletPlace,
  wish: KlusterletWish,
): Draft<Klusterlet> {
  const before: KlusterletSpec = existing?.spec ?? {};
  const registration = before.registrationConfiguration ?? {};
  const { featureGates, resources, clientCertExpirationSeconds: seconds, annotations, grantAccess, endpoint } = wish;
  const gates = withGates(SpokeGates, registration.featureGates ?? [], featureGates);
  const workGates = withGates(SpokeWorkGates, before.workConfiguration?.featureGates ?? [], featureGates);
  const metadataAnnotations = {
    ...existing?.metadata.annotations,
    ...(grantAccess !== undefined && { [ClusterAnnotation.grantedAccess]: grantAccess }),
  };
  return {
    ...existing,
    metadata: {
      ...existing?.metadata,
      name,
      ...(Object.keys(metadataAnnotations).length > 0 && { annotations: metadataAnnotations }),
    },
    spec: {
      ...before,
      namespace,
      clusterName: wish.clusterName,
      deployOption: { ...before.deployOption, mode: MODES[wish.mode] },
      ...(endpoint && { externalServerURLs: [serverUrl(endpoint)] }),
      ...(resources && { resourceRequirement: resources }),
      registrationConfiguration: {
        ...registration,
        ...(seconds !== undefined && { clientCertExpirationSeconds: seconds }),
        ...(gates && { featureGates: gates }),
        ...(annotations && { clusterAnnotations: { ...registration.clusterAnnotations, ...annotations } }),
      },
      ...(workGates && { workConfiguration: { ...before.workConfiguration, featureGates: workGates } }),
    },
  };
}

function serverUrl({ server, ca }: Endpoint): { url: string; caBundle?: string } {
  return { url: server, ...(ca !== undefined && { caBundle: Buffer.from(ca, "utf8").toString("base64") }) };
}

interface BootstrapAccess {
  readonly server: string;
  readonly token: string;
  readonly ca?: string;
  readonly proxyUrl?: string;
}

/** How the agents ask the hub; the names in it are those that agents compare with what they were given later. */
export function bootstrapKubeconfigText({ server, token, ca, proxyUrl }: BootstrapAccess): string {
  const config: Kubeconfig = {
    clusters: [
      {
        name: "hub",
        server,
        ...(ca !== undefined && { ca: { pem: ca } }),
        ...(proxyUrl !== undefined && { proxyUrl }),
      },
    ],
    users: [{ name: "bootstrap", token }],
    contexts: [{ name: "bootstrap", cluster: "hub", user: "bootstrap", namespace: "default" }],
    current: "bootstrap",
  };
  return kubeconfigText(config);
}

/** The namespace of the agents, and the Secrets that they need there. */
export function agentObjects(
  { agentNamespace }: KlusterletPlace,
  { bootstrap, managed }: { readonly bootstrap: string; readonly managed?: string },
): KubeObject[] {
  const secret = (name: string, kubeconfig: string): KubeObject =>
    ({
      apiVersion: apiVersionOf(Secret),
      kind: Secret.kind,
      metadata: { name, namespace: agentNamespace },
      type: "Opaque",
      data: { kubeconfig: Buffer.from(kubeconfig, "utf8").toString("base64") },
    }) as KubeObject;
  return [
    { apiVersion: apiVersionOf(Namespace), kind: Namespace.kind, metadata: { name: agentNamespace } },
    secret(OperatorSecret.bootstrap, bootstrap),
    ...(managed === undefined ? [] : [secret(OperatorSecret.managed, managed)]),
  ];
}
