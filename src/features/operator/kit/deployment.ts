/** The Deployment of one of our programs. */
import { Deployment } from "#api/apps";
import type { Container, PodSpec } from "#api/core";
import type { DynamicObject } from "#api/meta";
import type { NodePlacement } from "#api/operator";
import { complete } from "./objects.ts";
import type { ContainerResources } from "./resources.ts";

export interface DeploymentOptions {
  readonly name: string;
  readonly namespace: string;
  /** The label `app` of its Pods. */
  readonly app: string;
  readonly container: string;
  readonly image: string;
  readonly args: readonly string[];
  /** Said after all others, so that they count. */
  readonly lastArgs?: readonly string[];
  readonly serviceAccount: string;
  readonly replicas: number;
  /** Whether it shows health and readiness, as programs with `--metrics-address` do. */
  readonly hasReadiness: boolean;
  /** Where and by which flag it is told to, if not as all others. */
  readonly health?: { readonly port: number; readonly flag: string };
  /** Further ports that others look for by name. */
  readonly ports?: NonNullable<Container["ports"]>;
  /** Whether it has the addresses of its node. */
  readonly hostNetwork?: boolean;
  readonly resources?: ContainerResources;
  readonly nodePlacement?: NodePlacement | undefined;
  readonly volumes?: readonly ({ readonly name: string } & Record<string, unknown>)[];
  readonly mounts?: readonly VolumeMount[];
  readonly env?: NonNullable<Container["env"]>;
  /** Of the Deployment and of its Pods. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly priorityClassName?: string | undefined;
  readonly hostAliases?: readonly { readonly ip: string; readonly hostnames: readonly string[] }[];
  readonly podAnnotations?: Readonly<Record<string, string>>;
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
}

/** Where a program shows its health; Pods have addresses of their own, so it is the same in all of them. */
const HEALTH = { port: 8000, flag: "--metrics-address" };

export function deployment(options: DeploymentOptions): DynamicObject {
  const { name, namespace, app, replicas, labels, podAnnotations } = options;
  return complete(Deployment, {
    metadata: { name, namespace, labels: { ...labels, app } },
    spec: {
      replicas,
      selector: { matchLabels: { app } },
      template: {
        metadata: { labels: { ...labels, app }, ...(podAnnotations && { annotations: { ...podAnnotations } }) },
        spec: podSpec(options),
      },
    },
  });
}

function podSpec(options: DeploymentOptions): PodSpec {
  const { app, serviceAccount, nodePlacement, volumes = [], priorityClassName, hostAliases = [] } = options;
  const { nodeSelector, tolerations } = nodePlacement ?? {};
  const spec = {
    serviceAccountName: serviceAccount,
    affinity: apartFrom(app),
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [containerOf(options)],
    ...(nodeSelector && { nodeSelector }),
    ...(tolerations && { tolerations }),
    ...(volumes.length > 0 && { volumes: [...volumes] }),
    ...(priorityClassName && { priorityClassName }),
    ...(hostAliases.length > 0 && { hostAliases }),
    ...(options.hostNetwork && { hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" }),
  };
  return spec as PodSpec;
}

/** On different nodes, where there are several: with one node all but one of them should not go. */
function apartFrom(app: string): NonNullable<PodSpec["affinity"]> {
  const podAffinityTerm = { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app } } };
  return { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 30, podAffinityTerm }] } };
}

function containerOf({
  container,
  image,
  args,
  lastArgs = [],
  hasReadiness,
  health = HEALTH,
  ports = [],
  resources,
  mounts,
  env,
}: DeploymentOptions): Container {
  const spec = {
    name: container,
    image,
    imagePullPolicy: "IfNotPresent",
    args: [...args, ...(hasReadiness ? [`${health.flag}=:${health.port}`] : []), ...lastArgs],
    ...(env && env.length > 0 && { env }),
    ...(resources && Object.keys(resources).length > 0 && { resources }),
    ...(hasReadiness && probes(health.port)),
    ...(ports.length + Number(hasReadiness) > 0 && {
      ports: [...(hasReadiness ? [{ name: "health", containerPort: health.port }] : []), ...ports],
    }),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      privileged: false,
      capabilities: { drop: ["ALL"] },
    },
    ...(mounts && mounts.length > 0 && { volumeMounts: [...mounts] }),
  };
  return spec as Container;
}

function probes(port: number): Pick<Container, "livenessProbe" | "readinessProbe"> {
  const probe = (path: string) => ({ httpGet: { path, port } });
  return {
    livenessProbe: { ...probe("/healthz"), initialDelaySeconds: 10, periodSeconds: 20 },
    readinessProbe: { ...probe("/readyz"), periodSeconds: 5 },
  };
}
