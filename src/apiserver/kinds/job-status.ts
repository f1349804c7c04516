/** Which changes of a Job's status make sense, whoever makes them: some Jobs are run by others than the server. */
import type { DynamicObject } from "#api/meta";
import { IntervalSet, intervalsProblem } from "#lib/intervals";
import { equal } from "#lib/json";
import { type FieldError, field } from "../errors.ts";
import { at, type Fields, fieldsAt, numberAt, objectsAt, textAt, textsAt } from "./fields.ts";
import { notNegative } from "./pod-validation.ts";

/** A rule looks at what is; it is asked only when one of the fields that it is about has changed. */
interface Rule {
  readonly about: readonly Aspect[];
  check(view: View): FieldError[];
}

/** What may change in a status; some are read off its conditions. */
type Aspect = keyof ReturnType<typeof aspectsOf>;

interface View {
  readonly spec: Fields;
  readonly status: Fields;
  is(type: string): boolean;
  readonly isFinished: boolean;
}

export function jobStatusErrors(job: DynamicObject, current: DynamicObject): FieldError[] {
  const [next, before] = [viewOf(job), viewOf(current)];
  const [now, then] = [aspectsOf(next), aspectsOf(before)];
  const changed = new Set(Object.keys(now).filter((key) => !equal(now[key as Aspect], then[key as Aspect])));
  return [
    ...["active", "succeeded", "failed", "ready", "terminating"].flatMap((key) => notNegative(job, "status", key)),
    ...uncountedErrors(next),
    ...RULES.filter(({ about }) => about.some((aspect) => changed.has(aspect))).flatMap(({ check }) => check(next)),
    ...contradictions(next),
    ...stepsBack(next, before),
  ];
}

function viewOf(job: DynamicObject): View {
  const conditions = objectsAt(job, "status", "conditions");
  const is = (type: string) => conditions.some((each) => each.type === type && each.status === "True");
  return {
    spec: fieldsAt(job, "spec"),
    status: fieldsAt(job, "status"),
    is,
    isFinished: is("Complete") || is("Failed"),
  };
}

function aspectsOf({ status, is, isFinished }: View) {
  return {
    complete: is("Complete"),
    failed: is("Failed"),
    failureTarget: is("FailureTarget"),
    successCriteriaMet: is("SuccessCriteriaMet"),
    finished: isFinished,
    active: numberAt(status, "active") ?? 0,
    ready: at(status, "ready"),
    terminating: at(status, "terminating"),
    startTime: at(status, "startTime"),
    completionTime: at(status, "completionTime"),
    completedIndexes: textAt(status, "completedIndexes"),
    failedIndexes: at(status, "failedIndexes"),
    uncounted: fieldsAt(status, "uncountedTerminatedPods"),
  };
}

const CONDITIONS = "status.conditions";

const RULES: readonly Rule[] = [
  {
    about: ["complete", "failed"],
    check: ({ is }) => whenBoth(is("Complete"), is("Failed"), "cannot set Complete=True and Failed=true conditions"),
  },
  {
    about: ["complete", "failureTarget"],
    check: ({ is }) =>
      whenBoth(is("Complete"), is("FailureTarget"), "cannot set Complete=True and FailureTarget=true conditions"),
  },
  {
    about: ["complete", "completionTime"],
    check({ status, is }) {
      const path = "status.completionTime";
      const time = at(status, "completionTime");
      if (time !== undefined && !is("Complete")) {
        return [field.invalid(path, time, "cannot set completionTime when there is no Complete=True condition")];
      }
      return time === undefined && is("Complete")
        ? [field.required(path, "completionTime is required for Complete jobs")]
        : [];
    },
  },
  {
    about: ["startTime", "completionTime"],
    check({ status }) {
      const [start, end] = [textAt(status, "startTime"), textAt(status, "completionTime")];
      const isOrdered = start === "" || end === "" || Date.parse(start) <= Date.parse(end);
      return isOrdered ? [] : [field.invalid("status.completionTime", end, "must be equal to or after `startTime`")];
    },
  },
  {
    about: ["failed", "failedIndexes"],
    check: ({ is }) =>
      whenBoth(
        is("Failed"),
        !is("FailureTarget"),
        "cannot set Failed=True condition without the FailureTarget=true condition",
      ),
  },
  {
    about: ["complete", "successCriteriaMet"],
    check: ({ is }) =>
      whenBoth(
        is("Complete"),
        !is("SuccessCriteriaMet"),
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
      ),
  },
  {
    about: ["finished", "active"],
    check({ status, isFinished }) {
      const active = numberAt(status, "active") ?? 0;
      return isFinished && active > 0
        ? [field.invalid("status.active", active, "active>0 is invalid for finished job")]
        : [];
    },
  },
  {
    about: ["finished", "startTime"],
    check({ spec, status, isFinished }) {
      const neverStarts = spec.suspend === true && spec.completions === 0;
      if (!isFinished || neverStarts || at(status, "startTime") !== undefined) return [];
      return [field.required("status.startTime", "startTime is required for finished job")];
    },
  },
  {
    about: ["finished", "uncounted"],
    check({ status, isFinished }) {
      const uncounted = fieldsAt(status, "uncountedTerminatedPods");
      const count = textsAt(uncounted, "succeeded").length + textsAt(uncounted, "failed").length;
      if (!isFinished || count === 0) return [];
      return [field.invalid("status.uncountedTerminatedPods", uncounted, "must be empty for finished job")];
    },
  },
  {
    about: ["finished", "terminating"],
    check({ status, isFinished }) {
      const terminating = numberAt(status, "terminating") ?? 0;
      if (!isFinished || terminating === 0) return [];
      return [field.invalid("status.terminating", terminating, "terminating>0 is invalid for finished job")];
    },
  },
  {
    about: ["ready", "active"],
    check({ status }) {
      const [ready, active] = [numberAt(status, "ready") ?? 0, numberAt(status, "active") ?? 0];
      return ready > active ? [field.invalid("status.ready", ready, "cannot set more ready pods than active")] : [];
    },
  },
  { about: ["completedIndexes"], check: completedIndexErrors },
  { about: ["failedIndexes"], check: failedIndexErrors },
  {
    about: ["completedIndexes", "failedIndexes"],
    check({ spec, status }) {
      const [completions, failed] = [numberAt(spec, "completions"), textAt(status, "failedIndexes")];
      if (completions === undefined || failed === "") return [];
      const completed = IntervalSet.parse(textAt(status, "completedIndexes"), completions);
      if (completed.overlap(IntervalSet.parse(failed, completions)) === 0) return [];
      return [field.invalid("status.failedIndexes", failed, "failedIndexes and completedIndexes overlap")];
    },
  },
];

function completedIndexErrors({ spec, status }: View): FieldError[] {
  const path = "status.completedIndexes";
  const text = textAt(status, "completedIndexes");
  if (text === "") return [];
  const completions = numberAt(spec, "completions");
  const problem = completions === undefined ? undefined : intervalsProblem(text, completions);
  return [
    ...(problem ? [field.invalid(path, text, `error parsing completedIndexes: ${problem}`)] : []),
    ...(spec.completionMode === "Indexed"
      ? []
      : [field.invalid(path, text, "cannot set non-empty completedIndexes when non-indexed completion mode")]),
  ];
}

function failedIndexErrors({ spec, status }: View): FieldError[] {
  const path = "status.failedIndexes";
  const text = at(status, "failedIndexes");
  if (typeof text !== "string") return [];
  if (spec.backoffLimitPerIndex === undefined) {
    return [field.invalid(path, text, "cannot set non-null failedIndexes when backoffLimitPerIndex is null")];
  }
  const problem = intervalsProblem(text, numberAt(spec, "completions") ?? 0);
  return problem ? [field.invalid(path, text, `error parsing failedIndexes: ${problem}`)] : [];
}

function uncountedErrors({ status }: View): FieldError[] {
  const seen = new Set<string>();
  return ["succeeded", "failed"].flatMap((list) =>
    textsAt(status, "uncountedTerminatedPods", list).flatMap((uid, index) => {
      const path = `status.uncountedTerminatedPods.${list}[${index}]`;
      if (uid === "") return [field.invalid(path, uid, "must not be empty")];
      if (seen.has(uid)) return [field.duplicate(path, uid)];
      seen.add(uid);
      return [];
    }),
  );
}

/** What can never be true together. */
function contradictions({ spec, is }: View): FieldError[] {
  const hasPolicy = spec.successPolicy !== undefined;
  return [
    ...whenBoth(
      is("SuccessCriteriaMet"),
      is("Failed"),
      "cannot set SuccessCriteriaMet=True and Failed=true conditions",
    ),
    ...whenBoth(
      is("SuccessCriteriaMet"),
      is("FailureTarget"),
      "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    ),
    ...whenBoth(
      hasPolicy && is("Complete"),
      !is("SuccessCriteriaMet"),
      "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
    ),
  ];
}

/** What was decided stays decided, and what was counted stays counted. */
function stepsBack(next: View, before: View): FieldError[] {
  const errors = ["Failed", "Complete", "FailureTarget", "SuccessCriteriaMet"].flatMap((type) =>
    whenBoth(before.is(type), !next.is(type), `cannot disable the terminal ${type}=True condition`),
  );
  const count = ({ status }: View, key: string) => numberAt(status, key) ?? 0;
  // An indexed Job may be made smaller, and then loses indexes that have succeeded.
  const mayShrink = next.spec.completionMode === "Indexed" && next.spec.completions === next.spec.parallelism;
  for (const key of mayShrink ? ["failed"] : ["failed", "succeeded"]) {
    if (count(next, key) < count(before, key)) {
      errors.push(field.invalid(`status.${key}`, count(next, key), `cannot decrease the ${key} counter`));
    }
  }
  return [...errors, ...timesErrors(next, before)];
}

function timesErrors(next: View, before: View): FieldError[] {
  const errors: FieldError[] = [];
  const [end, earlierEnd] = [at(next.status, "completionTime"), at(before.status, "completionTime")];
  if (end !== undefined && earlierEnd !== undefined && end !== earlierEnd) {
    errors.push(field.invalid("status.completionTime", end, "field is immutable"));
  }
  const [start, earlierStart] = [at(next.status, "startTime"), at(before.status, "startTime")];
  const isResuming = before.is("Suspended") && !next.is("Suspended");
  if (earlierStart !== undefined && start !== earlierStart && !isResuming && next.spec.suspend !== true) {
    const problem = "field is immutable for unsuspended job once set";
    errors.push(field.invalid("status.startTime", start ?? null, problem));
  }
  return errors;
}

function whenBoth(one: boolean, other: boolean, problem: string): FieldError[] {
  return one && other ? [field.invalid(CONDITIONS, null, problem)] : [];
}
