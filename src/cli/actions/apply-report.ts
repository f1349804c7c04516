/** What an apply or a plan came to, as a table, as data, and in a sentence. */
import { type ApplyAction, type ApplyReason, type ApplyReport, nameOf, type ObjectReport, type Unready } from "#kube";
import { stringifyJson } from "#lib/json";
import { table } from "../terminal.ts";

const ORDER: readonly ApplyAction[] = [
  "created",
  "updated",
  "unchanged",
  "skipped",
  "pruned",
  "waiting",
  "refused",
  "held back",
];

/** In a plan nothing has happened yet. */
const PLANNED: Readonly<Partial<Record<ApplyAction, string>>> = {
  created: "create",
  updated: "update",
  pruned: "remove",
};

export function reportRows({ objects }: ApplyReport, plan: boolean): string {
  const rows = objects.flatMap((report) => [
    [word(report.action, plan), report.id.kind, placeOf(report), messageOf(report)],
    ...(report.action === "updated" ? changeRows(report) : []),
  ]);
  return table(["Action", "Kind", "Name", "Message"], rows);
}

function word(action: ApplyAction, plan: boolean): string {
  return (plan && PLANNED[action]) || action;
}

function placeOf({ id }: ObjectReport): string {
  return id.namespace ? `${id.namespace}/${id.name}` : id.name;
}

function messageOf({ message, checked }: ObjectReport): string {
  const unchecked = checked ? "" : "not tried on the server";
  return [message, unchecked].filter((part) => part !== "").join("; ");
}

/** Longer values are cut in a table; data has them whole. */
const LONGEST_CELL = 60;

function changeRows({ changes, moreChanges }: ObjectReport): string[][] {
  const rows = changes.map(({ path, before, after }) => ["", "", "", `${path}: ${cell(before)} → ${cell(after)}`]);
  return moreChanges > 0 ? [...rows, ["", "", "", `and ${moreChanges} more`]] : rows;
}

function cell(value: unknown): string {
  if (value === undefined) return "(none)";
  const text = stringifyJson(value);
  return text.length > LONGEST_CELL ? `${text.slice(0, LONGEST_CELL)}…` : text;
}

export function reportValue(report: ApplyReport, unready: readonly Unready[], plan: boolean): object {
  return {
    plan,
    complete: report.complete && unready.length === 0,
    ...(report.problem !== undefined && { problem: report.problem }),
    summary: countsOf(report),
    objects: report.objects.map(objectValue),
    ...(unready.length > 0 && {
      unready: unready.map(({ id, message }) => ({ ...idValue(id), message })),
    }),
  };
}

function objectValue(report: ObjectReport): object {
  const { id, action, reason, message, changes, moreChanges, conflicts, checked, source } = report;
  return {
    ...idValue(id),
    action,
    reason,
    message,
    checked,
    changes,
    ...(moreChanges > 0 && { moreChanges }),
    ...(conflicts.length > 0 && { conflicts }),
    ...(source !== undefined && { source }),
  };
}

function idValue({ group, version, kind, namespace, name }: ObjectReport["id"]): object {
  return { apiVersion: group ? `${group}/${version}` : version, kind, ...(namespace && { namespace }), name };
}

function countsOf({ objects }: ApplyReport): Record<string, number> {
  const counted = ORDER.map((action) => [action, objects.filter((each) => each.action === action).length] as const);
  return Object.fromEntries(counted.filter(([, count]) => count > 0));
}

/** `2 created, 61 unchanged.` */
export function summaryLine(report: ApplyReport, plan: boolean): string {
  const counts = Object.entries(countsOf(report)).map(([action, count]) =>
    plan && PLANNED[action as ApplyAction] ? `${count} to ${PLANNED[action as ApplyAction]}` : `${count} ${action}`,
  );
  return plan ? `Plan: ${counts.join(", ")}. Nothing was changed.` : `${counts.join(", ")}.`;
}

/** What to do about it. */
const NEXT: Readonly<Partial<Record<ApplyReason, string>>> = {
  Conflict: "--force-conflicts takes these fields over",
  OtherSet: "--force-conflicts takes it over",
  OverBudget: "--max-removals allows more",
  Duplicate: "keep one of them",
  Invalid: "correct the manifest",
  Forbidden: "ask for the right, or choose another identity with --context",
  WebhookUnbacked: "see why its Pods do not run, or give it more --timeout",
  ServerNotReady: "try again, or give it more --timeout",
  BeingDeleted: "see what holds it, or give it more --timeout",
};

/** One line that names an object, the cause and the next thing to do; undefined when there is nothing to say. */
export function failureLine(report: ApplyReport, unready: readonly Unready[]): string | undefined {
  const bad = report.complete ? [] : report.objects.filter(isBad);
  const worst = bad.find(({ action }) => action === "refused") ?? bad[0];
  if (worst) return `${sentence(worst)}${others(bad.length - 1, "are not in place either")}`;
  if (report.problem !== undefined) return `${report.problem}; apply again`;
  const [first, ...more] = unready;
  return (
    first && `${nameOf(first.id)} does not work yet: ${first.message}${others(more.length, "do not work yet either")}`
  );
}

function isBad({ action, reason }: ObjectReport): boolean {
  if (action === "held back") return reason !== "LeftTheSet" && reason !== "Container";
  return action === "waiting" || action === "refused";
}

function sentence({ id, action, reason, message }: ObjectReport): string {
  const verb = { waiting: "waits", refused: "was refused" }[action as string] ?? "was held back";
  const next = NEXT[reason];
  return `${nameOf(id)} ${verb}: ${message}${next ? `; ${next}` : ""}`;
}

function others(count: number, what: string): string {
  return count > 0 ? ` (${count} more ${what})` : "";
}
