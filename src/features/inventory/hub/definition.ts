/** How the server keeps the lists of a ClusterProfile: by entry, each with its writer, or as a whole. */
import { CustomResourceDefinition } from "#api/apiextensions";
import { ClusterProfile } from "#api/inventory";
import { apiVersionOf, keyOf } from "#api/meta";
import type { Cache, Cluster } from "#runtime";

const PROFILE_CRD = `${ClusterProfile.plural}.${ClusterProfile.group}`;

export interface ProfileDefinition {
  /** To be named among what a controller reads. */
  readonly cache: Cache<CustomResourceDefinition>;
  /**
   * Whether the server keeps the writers of the lists apart. The definition that other hubs bring makes each list one
   * value, which an apply would replace as a whole.
   */
  listsAreMaps(): boolean;
}

export function profileDefinition(hub: Cluster): ProfileDefinition {
  const cache = hub.cache(CustomResourceDefinition, { fieldSelector: `metadata.name=${PROFILE_CRD}` });
  return {
    cache,
    listsAreMaps() {
      const version = cache.get(PROFILE_CRD)?.spec.versions.find(({ name }) => name === ClusterProfile.version);
      const status = version?.schema?.openAPIV3Schema?.properties?.status;
      return LISTS.every((list) => status?.properties?.[list]?.["x-kubernetes-list-type"] === "map");
    },
  };
}

const LISTS = ["accessProviders", "conditions", "properties"] as const;

/** Says one part of a profile's status under a name of its own: what it said before and says no more goes. */
export async function applyStatus(
  hub: Cluster,
  profile: ClusterProfile,
  fieldManager: string,
  status: ClusterProfile["status"],
): Promise<void> {
  const { name, namespace } = profile.metadata;
  const applied = {
    apiVersion: apiVersionOf(ClusterProfile),
    kind: ClusterProfile.kind,
    metadata: { name, namespace },
  };
  const options = { type: "apply", subresource: "status", fieldManager, force: true } as const;
  await hub.client.patch(ClusterProfile, keyOf(profile), { ...applied, status }, options);
}
