/** The status of a work: what is said of each manifest, and what follows for the whole. */
import type { Condition, ConditionStatus, DynamicObject, Kind } from "#api/meta";
import {
  type FeedbackValue,
  type ManifestCondition,
  type ManifestResourceMeta,
  type ManifestWork,
  WorkCondition,
} from "#api/work";
import { type ConditionClaim, findCondition, removeCondition, setCondition } from "#lib/conditions";
import { equal } from "#lib/json";
import { ruledConditions } from "./condition-rules.ts";
import type { Chosen } from "./config.ts";
import { type FeedbackOptions, feedbackOf } from "./feedback.ts";
import { AppliedReason, AvailableReason, FeedbackReason, RULE_PREFIX, RuleReason } from "./reasons.ts";

/** What became of one manifest. */
export interface Finding {
  readonly meta: ManifestResourceMeta;
  readonly kind: Kind | undefined;
  readonly config: Chosen;
  /** Whether it is applied; undefined leaves what was said before. */
  readonly applied: Pick<ConditionClaim, "status" | "reason" | "message"> | undefined;
  /** The object; `absent`; `hidden` if it is there and no more may be told of it; or why nobody knows. */
  readonly live: DynamicObject | "absent" | "hidden" | { readonly unreadable: string };
  /** Finished: what rules have said of it is not taken back. */
  readonly isFrozen: boolean;
}

export interface StatusOptions {
  readonly now: Date;
  readonly feedback?: FeedbackOptions;
}

/** The longest message that the API takes. */
const LONGEST_MESSAGE = 32_768;

/** The work's status, given what became of its manifests; equal to the one it has when nothing is new. */
export function workStatus(
  work: ManifestWork,
  findings: readonly Finding[],
  options: StatusOptions,
): NonNullable<ManifestWork["status"]> {
  const generation = work.metadata.generation ?? 0;
  const known = work.status?.resourceStatus?.manifests ?? [];
  const manifests = findings.map((finding) =>
    manifestStatus(formerOf(finding.meta, known, findings), finding, generation, options),
  );
  const conditions = workConditions(work.status?.conditions ?? [], manifests, generation, options.now);
  return { ...work.status, conditions, resourceStatus: { manifests } };
}

/** What was said of the manifest before: in the same place, or elsewhere if there is only one that it can be. */
function formerOf(
  meta: ManifestResourceMeta,
  known: readonly ManifestCondition[],
  findings: readonly Finding[],
): ManifestCondition | undefined {
  const same = known.find(({ resourceMeta }) => equal(tidy(resourceMeta), tidy(meta)));
  if (same) return same;
  const alike = known.filter(({ resourceMeta }) => isSameObject(resourceMeta, meta));
  const claimants = findings.filter((other) => isSameObject(other.meta, meta));
  return alike.length === 1 && claimants.length === 1 ? alike[0] : undefined;
}

/** Before its kind was known a manifest had no plural; it is the same one. */
function isSameObject(a: ManifestResourceMeta, b: ManifestResourceMeta): boolean {
  const key = ({ group = "", version = "", kind = "", namespace = "", name = "" }: ManifestResourceMeta) =>
    JSON.stringify([group, version, kind, namespace, name]);
  return key(a) === key(b);
}

function tidy(meta: ManifestResourceMeta): object {
  return Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== ""));
}

function manifestStatus(
  former: ManifestCondition | undefined,
  finding: Finding,
  generation: number,
  { now, feedback }: StatusOptions,
): ManifestCondition {
  const { meta, applied, live } = finding;
  let conditions: Condition[] = former?.conditions ?? [];
  const say = (claim: ConditionClaim) => {
    // What was said of another generation is said anew: its time shows it, and so does its place, which is the last.
    const old = findCondition(conditions, claim.type);
    const isOther = claim.observedGeneration !== undefined && old?.observedGeneration !== claim.observedGeneration;
    const base = old && isOther ? removeCondition(conditions, claim.type) : conditions;
    conditions = setCondition(base, { ...claim, message: claim.message.slice(0, LONGEST_MESSAGE) }, now);
  };
  if (applied) say({ type: WorkCondition.Applied, ...applied, observedGeneration: generation });
  say({ type: WorkCondition.Available, ...availability(finding) });
  if (!finding.kind || live === "absent" || live === "hidden" || "unreadable" in live) {
    return entry(meta, pruned(conditions, finding), former?.statusFeedback?.values);
  }

  const { values, claim } = feedbackClaim(finding, live as DynamicObject, finding.kind, feedback);
  if (!equal(values, former?.statusFeedback?.values ?? [])) {
    conditions = removeCondition(conditions, WorkCondition.StatusFeedbackSynced);
  }
  say({ type: WorkCondition.StatusFeedbackSynced, ...claim });
  for (const ruled of ruledConditions(finding.config.conditionRules, live as DynamicObject, finding.kind)) {
    conditions = setCondition(
      conditions,
      { ...ruled, message: ruled.message.slice(0, LONGEST_MESSAGE), observedGeneration: generation },
      now,
    );
  }
  return entry(meta, pruned(conditions, finding), values);
}

function entry(
  resourceMeta: ManifestResourceMeta,
  conditions: Condition[],
  values: readonly FeedbackValue[] = [],
): ManifestCondition {
  return { resourceMeta, conditions, ...(values.length > 0 && { statusFeedback: { values: [...values] } }) };
}

/** Without what rules said that are no longer there. */
function pruned(conditions: Condition[], { config, isFrozen }: Finding): Condition[] {
  if (isFrozen) return conditions;
  const ruled = new Set(config.conditionRules.map(({ condition }) => condition));
  return conditions.filter(({ type, reason }) => !reason.startsWith(RULE_PREFIX) || ruled.has(type));
}

function availability({ meta, live }: Finding): Pick<ConditionClaim, "status" | "reason" | "message"> {
  if (!meta.resource || !meta.version || !meta.name) {
    return { status: "Unknown", reason: AvailableReason.incomplete, message: "Resource meta is incomplete" };
  }
  if (live === "absent") {
    return { status: "False", reason: AvailableReason.absent, message: "Resource is not available" };
  }
  if (live !== "hidden" && "unreadable" in live) {
    const message = `Failed to fetch resource: ${String(live.unreadable)}`;
    return { status: "Unknown", reason: AvailableReason.unreadable, message };
  }
  return { status: "True", reason: AvailableReason.present, message: "Resource is available" };
}

function feedbackClaim(
  { config }: Finding,
  live: DynamicObject,
  kind: Kind,
  options: FeedbackOptions | undefined,
): { values: readonly FeedbackValue[]; claim: Pick<ConditionClaim, "status" | "reason" | "message"> } {
  if (config.feedbackRules.length === 0) {
    return { values: [], claim: { status: "True", reason: FeedbackReason.none, message: "" } };
  }
  const { values, errors } = feedbackOf(config.feedbackRules, live, kind, options);
  if (errors.length === 0) return { values, claim: { status: "True", reason: FeedbackReason.synced, message: "" } };
  const message = `Sync status feedback failed with error ${errors.join(", ")}`;
  return { values, claim: { status: "False", reason: FeedbackReason.failed, message } };
}

/** Sorted by type. */
function workConditions(
  known: Condition[],
  manifests: readonly ManifestCondition[],
  generation: number,
  now: Date,
): Condition[] {
  let conditions = known;
  const say = (claim: ConditionClaim | undefined) => {
    if (claim) conditions = setCondition(conditions, { ...claim, observedGeneration: generation }, now);
  };
  say(appliedOverall(manifests));
  say(availableOverall(manifests));
  const ruled = ruledOverall(manifests);
  for (const claim of ruled) say(claim);
  const types = new Set(ruled.map(({ type }) => type));
  for (const { type, reason } of conditions) {
    if (reason.startsWith(RULE_PREFIX) && !types.has(type)) conditions = removeCondition(conditions, type);
  }
  return [...conditions].sort((a, b) => (a.type < b.type ? -1 : a.type > b.type ? 1 : 0));
}

function appliedOverall(manifests: readonly ManifestCondition[]): ConditionClaim | undefined {
  if (manifests.length === 0) return undefined;
  const isFailed = manifests.some(
    ({ conditions }) => findCondition(conditions, WorkCondition.Applied)?.status === "False",
  );
  return isFailed
    ? {
        type: WorkCondition.Applied,
        status: "False",
        reason: AppliedReason.workFailed,
        message: "Failed to apply manifest work",
      }
    : {
        type: WorkCondition.Applied,
        status: "True",
        reason: AppliedReason.workComplete,
        message: "Apply manifest work complete",
      };
}

function availableOverall(manifests: readonly ManifestCondition[]): ConditionClaim | undefined {
  if (manifests.length === 0) return undefined;
  const type = WorkCondition.Available;
  const total = manifests.length;
  const count = (status: ConditionStatus) =>
    manifests.filter(({ conditions }) => findCondition(conditions, type)?.status === status).length;
  if (count("False") > 0) {
    const message = `${count("False")} of ${total} resources are not available`;
    return { type, status: "False", reason: AvailableReason.someAbsent, message };
  }
  if (count("Unknown") > 0) {
    const message = `${count("Unknown")} of ${total} resources have unknown status`;
    return { type, status: "Unknown", reason: AvailableReason.unknown, message };
  }
  return { type, status: "True", reason: AvailableReason.allPresent, message: "All resources are available" };
}

/** What the rules of several manifests come to. */
function ruledOverall(manifests: readonly ManifestCondition[]): ConditionClaim[] {
  const byType = new Map<string, Condition[]>();
  for (const condition of manifests.flatMap(({ conditions }) => conditions)) {
    if (!condition.reason.startsWith(RULE_PREFIX)) continue;
    byType.set(condition.type, [...(byType.get(condition.type) ?? []), condition]);
  }
  return [...byType].map(([type, parts]) => ({
    type,
    status: aggregated(type, parts),
    reason: RuleReason.aggregated,
    message: parts.length === 1 ? (parts[0]?.message ?? "") : `Aggregated from ${parts.length} manifest conditions`,
  }));
}

function aggregated(type: string, parts: readonly Condition[]): ConditionStatus {
  const has = (status: ConditionStatus) => parts.some((part) => part.status === status);
  // Whatever progresses keeps the whole from being at rest; for all else every one has to agree.
  const [decisive, otherwise] =
    type === WorkCondition.Progressing ? (["True", "False"] as const) : (["False", "True"] as const);
  if (has(decisive)) return decisive;
  if (has("Unknown") || !has(otherwise)) return "Unknown";
  return otherwise;
}
