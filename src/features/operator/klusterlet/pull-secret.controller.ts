/**
 * Copies the image pull secret of the operator to where agents and add-ons run, and takes the copies away with it.
 *
 * Key     Namespace name
 * Reads   Klusterlet, Namespace; the Secret open-cluster-management-image-pull-credentials everywhere
 * Writes  that Secret
 * Twin    ocm:pkg/operator/operators/klusterlet/controllers/addonsecretcontroller
 */
import { Namespace, Secret } from "#api/core";
import { AGENT_ADDON_NAMESPACE, Klusterlet, OperatorLabel, OperatorSecret } from "#api/operator";
import { isDeleting, withLabels } from "#lib/meta";
import { type Cluster, type Controller, done } from "#runtime";
import { agentNamespaceOf } from "./wish.ts";

/** On a copy: where it is from, so that nobody's own Secret of that name is touched. */
export const COPIED_FROM = "operator.capstan.dev/copied-from";

export interface PullSecretOptions {
  readonly cluster: Cluster;
  /** The operator's. */
  readonly namespace: string;
}

export function pullSecretController({ cluster, namespace: source }: PullSecretOptions): Controller {
  const klusterlets = cluster.cache(Klusterlet);
  const namespaces = cluster.cache(Namespace, { projection: "metadata" });
  const secrets = cluster.cache(Secret, { fieldSelector: `metadata.name=${OperatorSecret.imagePull}` });
  const everywhere = () => [
    ...new Set([...namespaces.list().filter(isWanted).map(nameOf), ...secrets.list().map(placeOf)]),
  ];

  return {
    name: "klusterlet-pull-secret",
    triggers: [
      klusterlets.keyedBy((klusterlet) => [agentNamespaceOf(klusterlet), AGENT_ADDON_NAMESPACE, ...everywhere()]),
      namespaces.keyedBy(nameOf),
      secrets.keyedBy((secret) => (placeOf(secret) === source ? everywhere() : [placeOf(secret)])),
    ],

    async reconcile(target) {
      if (target === source) return done;
      const space = namespaces.get(target);
      const copy = secrets.get(`${target}/${OperatorSecret.imagePull}`);
      const original = secrets.get(`${source}/${OperatorSecret.imagePull}`);
      const isOurs = copy?.metadata.labels?.[COPIED_FROM] === source;
      if (space && !isDeleting(space) && original && isWanted(space)) {
        if (!copy || isOurs) await put(target, original, copy);
      } else if (copy && isOurs) await cluster.remove(Secret, copy);
      return done;
    },
  };

  /** Where an agent of a Klusterlet that stays runs, and where add-ons do. */
  function isWanted({ metadata: { name, labels } }: Namespace): boolean {
    const living = klusterlets.list().filter((klusterlet) => !isDeleting(klusterlet));
    if (living.length === 0) return false;
    if (living.some((klusterlet) => agentNamespaceOf(klusterlet) === name)) return true;
    return name === AGENT_ADDON_NAMESPACE || labels?.[OperatorLabel.addonNamespace] === "true";
  }

  async function put(target: string, { type, data }: Secret, copy: Secret | undefined): Promise<void> {
    const content = { ...(type !== undefined && { type }), ...(data && { data }) };
    // The type of a Secret cannot be changed; one of another makes way, and its going brings us back.
    if (copy && copy.type !== type) return await cluster.remove(Secret, copy);
    const wished = copy ?? { metadata: { name: OperatorSecret.imagePull, namespace: target } };
    await cluster.commit(Secret, copy, withLabels({ ...wished, ...content }, { [COPIED_FROM]: source }));
  }
}

function nameOf({ metadata }: Namespace): string {
  return metadata.name;
}

function placeOf({ metadata }: Secret): string {
  return metadata.namespace ?? "";
}
