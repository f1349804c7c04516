/**
 * The ConfigMap `kube-public/cluster-info`, by which a cluster tells strangers its address and its authority. kubeadm
 * writes it; where nobody has, `init` does.
 */
import { AgentIdentity } from "#api/cluster";
import { ConfigMap } from "#api/core";
import { apiVersionOf, type KubeObject } from "#api/meta";
import { RBAC_GROUP, Role, RoleBinding } from "#api/rbac";
import { type Client, type Connection, kubeconfigText, parseYaml, YamlError } from "#kube";
import { isObject } from "#lib/json";
import { UserError } from "../user-error.ts";
import { find } from "./changes.ts";

export const CLUSTER_INFO = "kube-public/cluster-info";
/** In every namespace of a cluster, by its controller manager. */
const ROOT_CA = "kube-public/kube-root-ca.crt";

/** On the cluster-info that `init` wrote, so that `clean` removes no other. */
const OURS = { label: "app.kubernetes.io/managed-by", value: "capstan" } as const;

export interface Endpoint {
  readonly server: string;
  /** PEM of the authority; the system's where absent. */
  readonly ca?: string;
}

/** What the cluster says of itself; undefined if it does not. Throws UserError where that makes no sense. */
export async function clusterInfo(client: Client): Promise<Endpoint | undefined> {
  const map = await find(client, ConfigMap, CLUSTER_INFO);
  return map && endpointIn(map, client.server);
}

/** Its one cluster has no name, as kubeadm writes it; a kubeconfig for use would need one. */
function endpointIn({ data }: ConfigMap, server: string): Endpoint {
  const text = data?.kubeconfig ?? "";
  const where = `ConfigMap ${CLUSTER_INFO} on ${server}`;
  const mend = "correct it, or delete it and run `capstan init` again";
  if (text === "") throw new UserError(`${where} has no kubeconfig; ${mend}`);
  const config = parsed(text);
  const clusters = isObject(config) && Array.isArray(config.clusters) ? config.clusters.filter(isObject) : [];
  const only = clusters.length === 1 ? clusters[0]?.cluster : undefined;
  if (!isObject(only)) throw new UserError(`${where} names ${clusters.length} clusters in place of one; ${mend}`);
  const { server: url, "certificate-authority-data": authority } = only;
  if (typeof url !== "string" || !URL.canParse(url)) throw new UserError(`${where} names no server; ${mend}`);
  return {
    server: url.replace(/\/+$/, ""),
    ...(typeof authority === "string" && { ca: Buffer.from(authority, "base64").toString("utf8") }),
  };
}

function parsed(text: string): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    if (error instanceof YamlError) return undefined;
    throw error;
  }
}

/** The authority of a cluster, as its own programs are told it. */
export async function rootAuthority(client: Client): Promise<string | undefined> {
  const map = await find(client, ConfigMap, ROOT_CA);
  return map?.data?.["ca.crt"] || undefined;
}

/** The cluster-info of a cluster that has none, from how we reach it ourselves. */
export function ownClusterInfo({ server, ca }: Pick<Connection, "server" | "ca">): ConfigMap {
  const cluster = { name: "", server, ...(ca !== undefined && { ca: { pem: ca } }) };
  return {
    apiVersion: apiVersionOf(ConfigMap),
    kind: ConfigMap.kind,
    metadata: { name: "cluster-info", namespace: "kube-public", labels: { [OURS.label]: OURS.value } },
    immutable: true,
    data: { kubeconfig: kubeconfigText({ clusters: [cluster], users: [], contexts: [] }) },
  };
}

export function isOurClusterInfo({ metadata }: ConfigMap): boolean {
  return metadata.labels?.[OURS.label] === OURS.value;
}

/** Who may read where a hub tells of its authority, in `kube-public`. */
export const AUTHORITY_READERS = "open-cluster-management:hub-authority";

/** Lets agents that have joined read the hub's authority, which is no secret: so they learn a renewed one in time. */
export function authorityReaders(): KubeObject[] {
  const metadata = { name: AUTHORITY_READERS, namespace: "kube-public" };
  const role = {
    apiVersion: apiVersionOf(Role),
    kind: Role.kind,
    metadata,
    rules: [
      {
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: [CLUSTER_INFO, ROOT_CA].map((key) => key.replace(/^.*\//, "")),
        verbs: ["get"],
      },
    ],
  };
  const binding = {
    apiVersion: apiVersionOf(RoleBinding),
    kind: RoleBinding.kind,
    metadata,
    roleRef: { apiGroup: RBAC_GROUP, kind: Role.kind, name: AUTHORITY_READERS },
    subjects: [{ kind: "Group", apiGroup: RBAC_GROUP, name: AgentIdentity.commonGroup }],
  };
  return [role, binding];
}
