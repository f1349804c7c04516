/** What puts an operator itself on a cluster: the administrator applies it, and the operator does the rest. */
import type { DynamicObject } from "#api/meta";
import { OPERATOR_NAMESPACE } from "#api/operator";
import type { PolicyRule } from "#api/rbac";
import { deployment } from "./deployment.ts";
import { clusterRights, namespace, serviceAccount } from "./objects.ts";
import { resourcesOf } from "./resources.ts";

export interface InstallationOptions {
  /** Our own image. */
  readonly image: string;
  readonly replicas?: number;
  /** Further arguments of the operator, such as `--enable-sync-labels`. */
  readonly args?: readonly string[];
}

export interface InstalledOperator {
  /** Of everything that is made for it, and the word that starts it. */
  readonly name: string;
  readonly container: string;
  readonly rights: readonly PolicyRule[];
}

/** In the order to create them; the definition of the kind that the operator serves is not among them. */
export function operatorInstallation(
  { name, container, rights }: InstalledOperator,
  { image, replicas = 1, args = [] }: InstallationOptions,
): DynamicObject[] {
  const account = { name, namespace: OPERATOR_NAMESPACE };
  const election = ["--leader-elect", `--leader-elect-namespace=${OPERATOR_NAMESPACE}`];
  return [
    namespace(OPERATOR_NAMESPACE),
    serviceAccount(account),
    ...clusterRights(name, [...rights], [account]),
    deployment({
      ...account,
      app: name,
      container,
      image,
      args: ["operator", name, `--image=${image}`, ...election, ...args],
      serviceAccount: name,
      replicas,
      resources: resourcesOf(undefined),
      hasReadiness: true,
      // A Pod that starts again takes the lead again at once if it is known by its name.
      env: [{ name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
    }),
  ];
}
