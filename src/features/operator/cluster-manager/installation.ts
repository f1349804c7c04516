/** What puts the operator itself on a hub: the administrator applies it, and the operator does the rest. */
import type { DynamicObject } from "#api/meta";
import { OPERATOR_NAMESPACE, OperatorName } from "#api/operator";
import { clusterRights, deployment, namespace, resourcesOf, serviceAccount } from "../kit/index.ts";
import { operatorRights } from "./rights.ts";

export interface ClusterManagerInstallationOptions {
  /** Our own image. */
  readonly image: string;
  readonly replicas?: number;
  /** Further arguments of the operator, such as `--enable-sync-labels`. */
  readonly args?: readonly string[];
}

/** In the order to create them; the definition of ClusterManagers is not among them. */
export function clusterManagerInstallation({
  image,
  replicas = 1,
  args = [],
}: ClusterManagerInstallationOptions): DynamicObject[] {
  const name = OperatorName.clusterManager;
  const account = { name, namespace: OPERATOR_NAMESPACE };
  return [
    namespace(OPERATOR_NAMESPACE),
    serviceAccount(account),
    ...clusterRights(name, operatorRights(), [account]),
    deployment({
      ...account,
      app: name,
      container: "registration-operator",
      image,
      args: [
        "operator",
        "cluster-manager",
        `--image=${image}`,
        "--leader-elect",
        `--leader-elect-namespace=${OPERATOR_NAMESPACE}`,
        ...args,
      ],
      serviceAccount: name,
      replicas,
      resources: resourcesOf(undefined),
      hasReadiness: true,
      env: [{ name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
    }),
  ];
}
