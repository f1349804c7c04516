/** What a ManagedCluster is given before it is written: when its taints came, a set, and a beat. */
import type { AdmissionRequest } from "#api/admission";
import { ClusterLabel, ClusterSetName, DEFAULT_LEASE_DURATION_SECONDS } from "#api/cluster";
import { timestamp } from "#lib/clock";
import { isObject } from "#lib/json";
import { isDeleting } from "#lib/meta";
import type { JsonPatchOperation } from "#lib/patch";
import { badObject, consent, type Ruling } from "#runtime";
import { listIn, objectIn, textIn } from "./reading.ts";

export interface MutationOptions {
  readonly now: Date;
  /** Whether a cluster that names no set belongs to `default`. */
  readonly defaultSet: boolean;
}

export function clusterMutation(
  { operation, object, oldObject }: Pick<AdmissionRequest, "operation" | "object" | "oldObject">,
  { now, defaultSet }: MutationOptions,
): Ruling {
  // One that is about to go needs nothing any more, and must not be kept from going.
  if (!object || isDeleting(object)) return consent;
  const taints = listIn(object.spec, "taints");
  const before = operation === "CREATE" ? undefined : listIn(oldObject?.spec, "taints");
  const times = taints.map((taint) => timeOf(taint, before, timestamp(now)));
  const wrong = taints.filter((_, index) => times[index] === "wrong").map((taint) => textIn(taint, "key"));
  if (wrong.length > 0) {
    return badObject(
      `It is not allowed to set TimeAdded of Taint ${wrong.map((key) => JSON.stringify(key)).join(", ")}: leave it out of taints that are new or changed, and as it is in all others`,
    );
  }
  const patch: JsonPatchOperation[] = [
    ...times.flatMap((time, index) =>
      typeof time === "object" ? [{ op: "add", path: `/spec/taints/${index}/timeAdded`, value: time.is } as const] : [],
    ),
    ...leasePatch(object.spec),
    ...(defaultSet ? setPatch(object.metadata) : []),
  ];
  return { allowed: true, patch };
}

/** The time to give it, that it stays as it is, or that the one it has is nobody's to set. */
type TimeRuling = { readonly is: string } | "kept" | "wrong";

function timeOf(taint: unknown, before: readonly unknown[] | undefined, now: string): TimeRuling {
  if (!isObject(taint)) return "kept";
  if (!before) return { is: now };
  const same = (field: string) => (each: unknown) => textIn(each, field) === textIn(taint, field);
  const old = before.find(same("key"));
  const isUnchanged = old !== undefined && same("value")(old) && same("effect")(old);
  if (isUnchanged) return sameMoment(textIn(old, "timeAdded"), textIn(taint, "timeAdded")) ? "kept" : "wrong";
  return textIn(taint, "timeAdded") === "" ? { is: now } : "wrong";
}

function sameMoment(a: string, b: string): boolean {
  return a === b || Date.parse(a) === Date.parse(b);
}

/** Clusters would be lost at once that may be silent for no time at all. */
function leasePatch(spec: unknown): JsonPatchOperation[] {
  if (!isObject(spec) || spec.leaseDurationSeconds !== 0) return [];
  return [{ op: "add", path: "/spec/leaseDurationSeconds", value: DEFAULT_LEASE_DURATION_SECONDS }];
}

function setPatch(metadata: unknown): JsonPatchOperation[] {
  const labels = isObject(metadata) ? (metadata.labels ?? undefined) : undefined;
  if (textIn(objectIn(metadata, "labels"), ClusterLabel.set) !== "") return [];
  const value = ClusterSetName.default;
  if (labels === undefined) return [{ op: "add", path: "/metadata/labels", value: { [ClusterLabel.set]: value } }];
  return isObject(labels) ? [{ op: "add", path: `/metadata/labels/${pointer(ClusterLabel.set)}`, value }] : [];
}

function pointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
