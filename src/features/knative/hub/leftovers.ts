/**
 * What was left behind on clusters that could not be reached in time: noted on the hub, so that it is removed when
 * they return.
 */
import { ConfigMap, Namespace } from "#api/core";
import type { KnativeComponent } from "#api/knative";
import { keyOf } from "#api/meta";
import { isAlreadyExists } from "#kube";
import type { Cluster } from "#runtime";
import { type Flavour, type Installation, type Place, placeOf } from "./installation.ts";

export const LEFTOVER_LABEL = "operator.capstan.dev/leftover";

/** What is known of an installation whose object is gone. */
export interface Leftover {
  /** The uid of the kube-system Namespace of its cluster. */
  readonly cluster: string;
  readonly place: Place;
}

export interface Leftovers {
  record(left: { installation: Installation; flavour: Flavour; cluster: string }): Promise<void>;
}

export function createLeftovers({ hub, namespace }: { hub: Cluster; namespace: string }): Leftovers {
  return {
    async record({ installation, flavour, cluster }) {
      await hub.client.create(Namespace, { metadata: { name: namespace } }).catch(unlessThere);
      await hub.client.create(ConfigMap, leftoverFor(installation, flavour, cluster, namespace)).catch(unlessThere);
    },
  };
}

function leftoverFor(installation: Installation, flavour: Flavour, cluster: string, namespace: string) {
  const { component, anchor = "", record, namespace: place } = placeOf(installation, flavour);
  const { kind, metadata, spec } = installation;
  const { name = "", namespace: home = "" } = spec?.clusterProfileRef ?? {};
  return {
    metadata: { name: `knative-leftover-${metadata.uid}`, namespace, labels: { [LEFTOVER_LABEL]: component } },
    data: {
      installation: `${kind} ${keyOf(installation)}`,
      profile: `${home}/${name}`,
      cluster,
      namespace: place,
      anchor,
      record,
    },
  };
}

export function leftoverIn({ metadata, data = {} }: ConfigMap): Leftover {
  const { cluster = "", namespace = "", anchor = "", record = "" } = data;
  const component = (metadata.labels?.[LEFTOVER_LABEL] ?? "") as KnativeComponent;
  return { cluster, place: { component, namespace, record, ...(anchor !== "" && { anchor }) } };
}

function unlessThere(error: unknown): undefined {
  if (!isAlreadyExists(error)) throw error;
  return undefined;
}
