/** Shows Knative on all clusters of a fleet for `capstan get knative`. */
import { KnativeEventing, KnativeServing } from "#api/knative";
import { apiVersionOf, type Kind, keyOf } from "#api/meta";
import { type KnativeInstallation, knativeState, UserError } from "#app";
import { type Client, isUnknownKind, yamlText } from "#kube";
import type { KnativeFlags } from "../commands/get.ts";
import { connect } from "../target.ts";
import { print, say, table } from "../terminal.ts";

export async function showKnative({ namespace, output, ...target }: KnativeFlags): Promise<void> {
  const client = await connect(target);
  try {
    const items = await installationsOn(client, namespace);
    const list = { apiVersion: "v1", kind: "List", metadata: {}, items };
    if (output === "json") print(JSON.stringify(list, undefined, 2));
    else if (output === "yaml") print(yamlText(list));
    else if (items.length === 0) say("There is no Knative yet; `capstan knative install` asks for it.");
    else print(rows(items));
  } finally {
    client.close();
  }
}

/** Both kinds, by namespace and name. */
export async function installationsOn(client: Client, namespace?: string): Promise<KnativeInstallation[]> {
  const scope = namespace === undefined ? {} : { namespace };
  const listed = async <T extends KnativeInstallation>(kind: Kind<T>): Promise<T[]> => {
    const { items } = await client.list(kind, scope).catch((error: unknown) => {
      if (!isUnknownKind(error)) throw error;
      throw new UserError(
        `${client.server} does not know ${kind.kind}; choose the hub with --context or --kubeconfig, or install the kinds: capstan knative definitions | kubectl apply -f -`,
      );
    });
    return items.map((item) => ({ ...item, apiVersion: apiVersionOf(kind), kind: kind.kind }));
  };
  const both = await Promise.all([listed(KnativeServing), listed(KnativeEventing)]);
  return both.flat().sort((a, b) => keyOf(a).localeCompare(keyOf(b), "en", { numeric: true }));
}

function rows(items: readonly KnativeInstallation[]): string {
  return table(
    ["Namespace/Name", "Kind", "Cluster", "Version", "Ready", "Reason"],
    items.map((item) => {
      const { cluster = "(hub)", version, ready, reason } = knativeState(item);
      return [keyOf(item), item.kind, cluster, version, ready, reason];
    }),
  );
}
