/** What the objects of a Klusterlet are called. Administrators and other programs look for some of them by name. */
import { OperatorSecret } from "#api/operator";

/** What one needs to know of a Klusterlet to name its objects. */
export interface Named {
  readonly name: string;
  readonly isSingleton: boolean;
}

export const Account = {
  registration: ({ name, isSingleton }: Named) => (isSingleton ? `${name}-work-sa` : `${name}-registration-sa`),
  work: ({ name }: Named) => `${name}-work-sa`,
} as const;

export const AgentDeployment = {
  registration: (name: string) => `${name}-registration-agent`,
  work: (name: string) => `${name}-work-agent`,
  singleton: (name: string) => `${name}-agent`,
} as const;

/** The label `app` of the Pods, by which people find them. */
export const AgentApp = {
  registration: "klusterlet-registration-agent",
  work: "klusterlet-manifestwork-agent",
  singleton: "klusterlet-agent",
} as const;

const PREFIX = "open-cluster-management:";

/** Roles on the managed cluster. */
export const ManagedRole = {
  registration: (name: string) => `${PREFIX}${name}-registration:agent`,
  access: (name: string) => `${PREFIX}${name}-registration:cluster-access`,
  work: (name: string) => `${PREFIX}${name}-work:agent`,
  execution: (name: string) => `${PREFIX}${name}-work:execution`,
  aggregate: (name: string) => `${PREFIX}${name}-work:aggregate`,
  executionAdmin: (name: string) => `${PREFIX}${name}-work:execution-admin`,
} as const;

/** Roles on the cluster where the agents run. */
export const ManagementRole = {
  registration: (name: string) => `${PREFIX}management:${name}-registration:agent`,
  work: (name: string) => `${PREFIX}management:${name}-work:agent`,
} as const;

/** ClusterRoles with this label are the work agent's too: how administrators let it do more. */
export const AGGREGATE_TO_WORK = { "open-cluster-management.io/aggregate-to-work": "true" } as const;

/** In hosted mode, who an agent is on the managed cluster. */
export const ManagedSecret = {
  registration: `${OperatorSecret.managed}-registration`,
  work: `${OperatorSecret.managed}-work`,
} as const;

/** Made by the registration agent for those to whom access is granted; nobody but it would remove them. */
export const GrantedAccess = {
  account: "cluster-access",
  binding: (namespace: string) => `${PREFIX}cluster-access:${namespace}`,
} as const;
