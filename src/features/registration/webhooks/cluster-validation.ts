/** Whether a ManagedCluster may be as somebody wishes it: what it is called, where it is, and who says that it is let in. */
import type { AdmissionRequest } from "#api/admission";
import { CLUSTER_GROUP, ClusterLabel, REGISTER_GROUP } from "#api/cluster";
import type { DynamicObject } from "#api/meta";
import { equal } from "#lib/json";
import { dns1123Label } from "#lib/names";
import { badObject, forbidden, type NeededRight, type Refusal } from "#runtime";
import { isReservedName } from "../hub/cluster-rbac.ts";
import { listIn, objectIn, textIn } from "./reading.ts";

type Request = Pick<AdmissionRequest, "operation" | "object" | "oldObject" | "userInfo">;

/** What is wrong with the cluster itself, whoever asks. */
export function clusterFlaw({ operation, object, oldObject }: Request): Refusal | undefined {
  if (!object) return undefined;
  // A name cannot be changed: who has a wrong one from before must still be able to go.
  const flaw = operation === "CREATE" ? nameFlaw(textIn(object.metadata, "name")) : undefined;
  if (flaw !== undefined) return badObject(flaw);
  const [urls, before] = [object, oldObject].map(urlsOf);
  if (oldObject && equal(urls, before)) return undefined;
  const wrong = (urls ?? []).filter((url) => !isHttps(url));
  if (wrong.length === 0) return undefined;
  const named = wrong.map((url) => JSON.stringify(url)).join(", ");
  return badObject(`url ${named} of spec.managedClusterClientConfigs is invalid: it must be like https://host:port`);
}

/** Everywhere else a cluster is a namespace, and a part of names of roles and groups. */
function nameFlaw(name: string): string | undefined {
  if (isReservedName(name)) {
    return `A cluster cannot be called ${name}: its agent would share the rights of others. Join it under another name.`;
  }
  const [problem] = dns1123Label(name);
  if (problem === undefined) return undefined;
  return `A cluster cannot be called ${JSON.stringify(name)}, because a namespace could not: ${problem}`;
}

function urlsOf(cluster: DynamicObject | null | undefined): string[] {
  return listIn(cluster?.spec, "managedClusterClientConfigs").map((each) => textIn(each, "url"));
}

function isHttps(url: string): boolean {
  return URL.canParse(url) && new URL(url).protocol === "https:";
}

/** Whether the request lets a cluster in that was not. To put one out needs no more than to write it. */
export function isAcceptance({ object, oldObject }: Request): boolean {
  return isAccepted(object) && !isAccepted(oldObject);
}

function isAccepted(cluster: DynamicObject | null | undefined): boolean {
  return objectIn(cluster, "spec").hubAcceptsClient === true;
}

export function acceptRefusal(name: string, why: string): Refusal {
  return forbidden({ group: REGISTER_GROUP, resource: "managedclusters/accept", name }, why);
}

/** What whoever asks must be allowed to, beside writing the cluster. */
export function clusterRights(request: Request, name: string): NeededRight[] {
  const { object, oldObject, userInfo } = request;
  const user = JSON.stringify(userInfo.username);
  const needed: NeededRight[] = [];
  if (isAcceptance(request)) {
    const why = `user ${user} cannot update the HubAcceptsClient field; let somebody accept the cluster who may update managedclusters/accept in ${REGISTER_GROUP}`;
    needed.push({
      right: { group: REGISTER_GROUP, resource: "managedclusters", subresource: "accept", verb: "update", name },
      refusal: acceptRefusal(name, why),
    });
  }
  const [before, after] = [oldObject, object].map(setOf);
  for (const set of before === after ? [] : [before, after]) {
    if (!set) continue;
    const why = `user ${user} cannot add/remove a ManagedCluster to/from ManagedClusterSet ${JSON.stringify(set)}`;
    needed.push({
      right: { group: CLUSTER_GROUP, resource: "managedclustersets", subresource: "join", verb: "create", name: set },
      refusal: forbidden({ group: CLUSTER_GROUP, resource: "managedclustersets/join", name: set }, why),
    });
  }
  return needed;
}

function setOf(cluster: DynamicObject | null | undefined): string {
  return textIn(objectIn(cluster?.metadata, "labels"), ClusterLabel.set);
}
