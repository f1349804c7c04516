/** What an installation begins with on another cluster: its namespace, and the ConfigMap that owns everything else. */
import type { ConfigMap, Namespace } from "#api/core";
import { keyOf, type OwnerReference } from "#api/meta";
import type { Draft } from "#kube";
import { Terminal } from "#runtime";
import { namespaceMetadata } from "../transform/index.ts";
import type { Installation, Place } from "./installation.ts";

const MANAGED_BY = "app.kubernetes.io/managed-by";
const MANAGER = "knative-operator";
const LONGEST_NAME = 253;

/** Selects what we keep on a cluster about our installations, beside what is installed. */
export const OURS = `${MANAGED_BY}=${MANAGER}`;

export function labelsFor({ metadata }: Installation): Record<string, string> {
  return { [MANAGED_BY]: MANAGER, "operator.knative.dev/cr-name": metadata.name };
}

/** The words are for whoever finds it on the cluster. */
const DESCRIPTION =
  "Owner of all that the Knative operator of the hub has installed in this namespace. Deleting it removes all of that. " +
  "To uninstall, delete the KnativeServing or KnativeEventing on the hub.";

export function anchorFor(installation: Installation, { namespace, anchor = "" }: Place): Draft<ConfigMap> {
  if (anchor.length > LONGEST_NAME) {
    const what = `${installation.kind} ${keyOf(installation)}`;
    throw new Terminal(
      `${what} has too long a name: its anchor ${anchor} would have more than ${LONGEST_NAME} characters`,
    );
  }
  return {
    metadata: {
      name: anchor,
      namespace,
      labels: labelsFor(installation),
      annotations: {
        "operator.knative.dev/anchor": "true",
        "operator.knative.dev/protected": "true",
        "operator.knative.dev/description": DESCRIPTION,
      },
    },
  };
}

/** Only for a namespace that does not exist: one that does is its owner's. */
export function namespaceFor({ spec }: Installation, name: string): Draft<Namespace> {
  const { labels, annotations } = namespaceMetadata(spec ?? {});
  return { metadata: { name, labels: { ...labels, [MANAGED_BY]: MANAGER }, annotations: { ...annotations } } };
}

/** The anchor as it should be: what others have put on it stays. */
export function mended(live: ConfigMap, wished: Draft<ConfigMap>): ConfigMap {
  const { labels, annotations } = wished.metadata;
  return {
    ...live,
    metadata: {
      ...live.metadata,
      labels: { ...live.metadata.labels, ...labels },
      annotations: { ...live.metadata.annotations, ...annotations },
    },
  };
}

export function ownerFrom({ apiVersion, kind, metadata }: Installation | ConfigMap): OwnerReference {
  const { name, uid = "" } = metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** An owner that is yet to be made has no uid; servers want one before they try anything. */
const NO_UID = "00000000-0000-0000-0000-000000000000";

export function foretoldOwner(object: Installation | ConfigMap): OwnerReference {
  const owner = ownerFrom(object);
  return owner.uid === "" ? { ...owner, uid: NO_UID } : owner;
}
