/** Whether a namespace may be lent a set of clusters. */
import type { AdmissionRequest } from "#api/admission";
import { CLUSTER_GROUP } from "#api/cluster";
import { isDeleting } from "#lib/meta";
import { badObject, forbidden, type NeededRight, type Refusal } from "#runtime";
import { textIn } from "./reading.ts";

type Request = Pick<AdmissionRequest, "operation" | "object" | "userInfo">;

export function bindingFlaw({ object }: Request): Refusal | undefined {
  if (!object || isDeleting(object)) return undefined;
  if (textIn(object.metadata, "name") === textIn(object.spec, "clusterSet")) return undefined;
  return badObject("The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet");
}

/** Which set it names cannot change, so that only who creates it is asked. */
export function bindingRights({ operation, object, userInfo }: Request): NeededRight[] {
  if (operation !== "CREATE") return [];
  const name = textIn(object?.spec, "clusterSet");
  const why = `user ${JSON.stringify(userInfo.username)} is not allowed to bind cluster set ${JSON.stringify(name)}`;
  return [
    {
      right: { group: CLUSTER_GROUP, resource: "managedclustersets", subresource: "bind", verb: "create", name },
      refusal: forbidden({ group: CLUSTER_GROUP, resource: "managedclustersets/bind", name }, why),
    },
  ];
}
