/** What would become of a work's objects, cluster by cluster, as a table or as data. */
import type { ClusterPlan } from "#app";
import { stringifyJson } from "#lib/json";
import { print, say, table } from "../terminal.ts";

type PlannedObject = ClusterPlan["objects"][number];
type PlannedChange = PlannedObject["changes"][number];

export function showPlans(plans: readonly ClusterPlan[], output: "table" | "json"): void {
  if (output === "json") print(stringifyJson({ plan: true, clusters: plans.map(value) }, 2));
  else {
    const rows = plans.flatMap(({ cluster, objects }) => objects.flatMap((object) => rowsOf(cluster, object)));
    if (rows.length > 0) print(table(["Cluster", "Action", "Kind", "Name", "Change"], rows));
  }
  for (const { cluster, unseen } of plans) {
    if (unseen !== undefined) say(`${cluster} was not looked at, only its works were compared: ${unseen}.`);
  }
  say(summary(plans));
}

function value({ cluster, objects, unseen }: ClusterPlan): object {
  return {
    cluster,
    compared: unseen === undefined ? "objects" : "works",
    ...(unseen !== undefined && { unseen }),
    objects: objects.map(({ message, moreChanges, ...object }) => ({
      ...object,
      ...(message !== "" && { message }),
      ...(moreChanges > 0 && { moreChanges }),
    })),
  };
}

function summary(plans: readonly ClusterPlan[]): string {
  const all = plans.flatMap(({ objects }) => objects);
  const counts = (["create", "change", "delete", "leave", "blocked"] as const).flatMap((action) => {
    const count = all.filter((object) => object.action === action).length;
    if (count === 0) return [];
    if (action === "leave") return [`${count} left alone`];
    return [action === "blocked" ? `${count} blocked` : `${count} to ${action}`];
  });
  const where = plans.length === 1 ? "one cluster" : `${plans.length} clusters`;
  return `Plan for ${where}: ${counts.join(", ") || "nothing to do"}. Nothing was changed.`;
}

function rowsOf(cluster: string, { action, kind, namespace, name, message, changes, moreChanges }: PlannedObject) {
  const place = namespace ? `${namespace}/${name}` : name;
  const head = [cluster, action, kind, place, message];
  if (action !== "change") return [head];
  const more = moreChanges > 0 ? [`and ${moreChanges} more`] : [];
  return [head, ...[...changes.map(line), ...more].map((text) => ["", "", "", "", text])];
}

/** Longer values are cut in a table; data has them whole. */
const LONGEST_CELL = 60;

function line({ path, before, after, drift }: PlannedChange): string {
  const mended = drift ? " (changed on the cluster; it is mended)" : "";
  return `${path}: ${isMasked(before, after) ? MASKED : `${cell(before)} → ${cell(after)}`}${mended}`;
}

const MASKED = "(masked, changed)";

/** What a Secret holds comes here without its values, only with a word for them. */
function isMasked(...values: unknown[]): boolean {
  return values.every((each) => each === undefined || /^\*{3}( \((before|after)\))?$/.test(String(each)));
}

function cell(shown: unknown): string {
  if (shown === undefined) return "(none)";
  const text = stringifyJson(shown);
  return text.length > LONGEST_CELL ? `${text.slice(0, LONGEST_CELL)}…` : text;
}
