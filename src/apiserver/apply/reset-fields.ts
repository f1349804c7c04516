/** What an endpoint leaves alone whatever a request says, and what nobody therefore owns for having said it. */
import { fieldElement } from "./path-element.ts";
import { type PathSet, pathSet } from "./path-set.ts";

export interface Endpoint {
  /** Where the objects are kept: `apps/deployments`. */
  readonly storage: string;
  readonly builtin: boolean;
  /** Whether status belongs to `/status`. */
  readonly hasStatus: boolean;
  /** Empty for the object itself. */
  readonly subresource: string;
}

/** Endpoints that differ from what most do; the object itself is the one without a subresource. */
const PARTICULAR: Readonly<Record<string, readonly string[]>> = {
  "apps/deployments/status": ["spec", "metadata.labels"],
  "core/pods/status": ["spec", "metadata.deletionTimestamp", "metadata.ownerReferences"],
  "core/namespaces/finalize": ["status"],
  "certificates.k8s.io/certificatesigningrequests/": ["spec", "status"],
  "certificates.k8s.io/certificatesigningrequests/status": ["spec", "status.conditions"],
  "certificates.k8s.io/certificatesigningrequests/approval": ["spec", "status.certificate"],
  "storage.k8s.io/volumeattachments/status": ["spec", "metadata"],
  "flowcontrol.apiserver.k8s.io/flowschemas/status": ["spec", "metadata"],
  "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations/status": ["spec", "metadata"],
  "networking.k8s.io/servicecidrs/status": ["spec", "metadata"],
  "admissionregistration.k8s.io/validatingadmissionpolicies/status": ["spec", "metadata"],
};

const sets = new Map<string, PathSet>();

export function resetFields(endpoint: Endpoint): PathSet {
  const names = namesFor(endpoint);
  const key = names.join();
  const known = sets.get(key);
  if (known) return known;
  const set = pathSet(...names.map((name) => name.split(".").map(fieldElement)));
  sets.set(key, set);
  return set;
}

function namesFor({ storage, builtin, hasStatus, subresource }: Endpoint): readonly string[] {
  const key = `${storage}/${subresource}`;
  const particular = Object.hasOwn(PARTICULAR, key) ? PARTICULAR[key] : undefined;
  if (particular) return particular;
  if (subresource === "status") return builtin ? ["spec"] : ["spec", "metadata"];
  return subresource === "" && hasStatus ? ["status"] : [];
}
