/** What agents say of manifests, for somebody who has not read how they work: the cause, and the next thing to do. */
import type { Condition } from "#api/meta";
import { type ManifestCondition, WorkCondition } from "#api/work";
import { findCondition } from "#lib/conditions";

export interface ManifestWords {
  /** `ConfigMap default/web` */
  readonly object: string;
  /** Whether it is on the cluster as the work wishes. */
  readonly isInPlace: boolean;
  /** It is in place, and still something is not as somebody wished. */
  readonly isFlawed?: true;
  readonly says: string;
  /** What to do about it. */
  readonly next?: string;
}

export interface Circumstances {
  readonly cluster: string;
  /** The service account in whose name the work acts, `namespace/name`. */
  readonly executor: string | undefined;
}

type Words = Pick<ManifestWords, "says" | "next">;

/** The first thing that is not as it should be; what it reports where all is well. */
export function wordsOf(manifest: ManifestCondition, circumstances: Circumstances): ManifestWords {
  const object = nameOf(manifest);
  const hindrance = hindranceIn(manifest, circumstances);
  if (hindrance) return { object, isInPlace: false, ...hindrance };
  const flaw = flawIn(manifest, circumstances);
  if (flaw) return { object, isInPlace: true, isFlawed: true, says: `in place, but ${flaw.says}`, ...nextOf(flaw) };
  const rules = rulesOf(manifest).filter(({ status }) => status !== "True");
  const unmet = rules.map(({ type, message }) => `not ${type}: ${message}`);
  return { object, isInPlace: true, says: ["in place", ...valuesOf(manifest), ...unmet].join(", ") };
}

function nextOf({ next }: Words): Pick<ManifestWords, "next"> {
  return next === undefined ? {} : { next };
}

function nameOf({ resourceMeta }: ManifestCondition): string {
  const { kind = "object", namespace, name = "", ordinal } = resourceMeta;
  return name === "" ? `manifest ${ordinal}` : `${kind} ${namespace ? `${namespace}/` : ""}${name}`;
}

function hindranceIn(manifest: ManifestCondition, circumstances: Circumstances): Words | undefined {
  const { conditions, resourceMeta } = manifest;
  const applied = findCondition(conditions, WorkCondition.Applied);
  if (applied && applied.status !== "True") {
    const message = applied.message.replace(/^Failed to (apply manifest|process ignoreFields): /, "");
    return plainly(message, manifest, circumstances);
  }
  const available = findCondition(conditions, WorkCondition.Available);
  if (!available || available.status === "True") return undefined;
  const look = kubectl("get", manifest, circumstances);
  if (available.status === "Unknown")
    return { says: `whether it is there cannot be told: ${available.message}`, next: look };
  const isApplied = applied !== undefined;
  const says = isApplied ? "it is not on the cluster" : "it is not on the cluster yet";
  return resourceMeta.name ? { says, next: look } : { says };
}

interface Saying {
  readonly pattern: RegExp;
  words(match: RegExpExecArray, manifest: ManifestCondition, circumstances: Circumstances): Words;
}

/** What agents and API servers say, most telling first. */
const SAYINGS: readonly Saying[] = [
  {
    pattern: /^the server doesn't have a resource type "(.*?)"/,
    words: ([, kind], _, { cluster }) => ({
      says: `the cluster does not know the kind ${kind} yet`,
      next: `install its CustomResourceDefinition on ${cluster}, by hand or by a work; this one then goes on by itself`,
    }),
  },
  {
    pattern: /^its namespace does not exist/,
    words: (_, { resourceMeta }, { cluster }) => ({
      says: "its namespace does not exist",
      next: `add Namespace ${resourceMeta.namespace} to the manifests, or create it: kubectl create namespace ${resourceMeta.namespace} --context ${cluster}`,
    }),
  },
  {
    pattern: /^not allowed to apply .*, error: permission escalation/,
    words: (_, __, { executor = "", cluster }) => ({
      says: `it would give away more rights than its executor, ServiceAccount ${executor}, has itself`,
      next: `give ${executor} these rights on ${cluster}, or the verb escalate (for roles) or bind (for bindings); it is tried again every minute`,
    }),
  },
  {
    pattern: /^not allowed to apply .*, error: (it would hold up .*)$/,
    words: ([, why], _, { executor = "", cluster }) => ({
      says: `its executor, ServiceAccount ${executor}, may not do that: ${why}`,
      next: `take blockOwnerDeletion out of its ownerReferences, or let ${executor} update the finalizers of that owner on ${cluster}`,
    }),
  },
  {
    pattern: /^not allowed to apply the resource (\S*) (\S+),/,
    words: ([, group, resource], { resourceMeta }, { executor = "", cluster }) => {
      const what = group ? `${resource}.${group}` : resource;
      const [namespace = "", name = ""] = executor.split("/");
      const who = `system:serviceaccount:${namespace}:${name}`;
      const place = resourceMeta.namespace ? ` -n ${resourceMeta.namespace}` : "";
      return {
        says: `its executor, ServiceAccount ${executor}, lacks a right to ${what}: it needs get, create, update, patch, and delete for what goes with the work`,
        next: `see what it may do with \`kubectl auth can-i --list --as ${who}${place} --context ${cluster}\` and grant the rest; it is tried again every minute`,
      };
    },
  },
  {
    pattern: /^whether .* cannot be told: /,
    words: ({ input }, _, { cluster }) => ({
      says: input,
      next: `see whether the agent may ask with \`capstan doctor --context ${cluster}\``,
    }),
  },
  {
    pattern: /^admission webhook "(.*?)" denied the request:? ?/,
    words: ({ 0: all, 1: webhook, input }, _, { cluster }) => ({
      says: `webhook ${webhook} of ${cluster} refuses it: ${input.slice(all.length) || "it does not say why"}`,
      next: "change the manifest so that it is accepted, or the rules of that webhook",
    }),
  },
  {
    pattern: /failed calling webhook "(.*?)":? ?/,
    words: ([, webhook], _, { cluster }) => ({
      says: `webhook ${webhook} of ${cluster} has to be asked first and does not answer`,
      next: `see why its Pods do not run, or remove its configuration: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations --context ${cluster}`,
    }),
  },
  {
    pattern: /is forbidden: User "(.*?)" cannot (\S+) resource "(.*?)"(?: in API group "(.*?)")?/,
    words: ([, user, verb, resource, group], _, { cluster }) => ({
      says: `the agent itself, ${user}, may not ${verb} ${group ? `${resource}.${group}` : resource}`,
      next: `let it: a ClusterRole on ${cluster} with the label open-cluster-management.io/aggregate-to-work=true is the agent's too`,
    }),
  },
  {
    pattern: /is forbidden: (.*)$/s,
    words: ([, why], _, { cluster }) => ({
      says: `${cluster} forbids it: ${why}`,
      next: "change the manifest, or what forbids it",
    }),
  },
  {
    pattern: /^.+ claims \.\S/s,
    words: ({ input }) => ({
      says: `somebody else answers for fields of it: ${input}`,
      next: "leave these fields out of the manifest, name them in ignoreFields, or take them over with serverSideApply.force in its manifestConfig",
    }),
  },
  {
    pattern: /^ManifestWork (\S+) is older/,
    words: ([, older], _, { cluster }) => ({
      says: `ManifestWork ${cluster}/${older} is older, has this object too and wants it otherwise`,
      next: `take it out of one of the two, or make both say the same`,
    }),
  },
  {
    pattern: /^something else on the cluster keeps changing it/,
    words: (_, manifest, circumstances) => ({
      says: "something else on the cluster keeps changing it; it is applied again every few minutes",
      next: `see who with \`${kubectl("get", manifest, circumstances)} -o yaml --show-managed-fields\`, and end that or leave the disputed fields out of the manifest`,
    }),
  },
  {
    pattern: /^(JSON Pointer|JQ expression) error/,
    words: ({ input }) => ({
      says: `its ignoreFields cannot be followed: ${input}`,
      next: "correct them in its manifestConfig",
    }),
  },
  {
    pattern: /is invalid: (.*)$/s,
    words: ([, why], _, { cluster }) => ({
      says: `${cluster} refuses it as invalid: ${why}`,
      next: "correct the manifest",
    }),
  },
  {
    pattern: /^(it waits for|its namespace is being deleted|it is being deleted)/,
    words: ({ input }) => ({ says: input, next: "nothing: it goes on by itself" }),
  },
];

function plainly(message: string, manifest: ManifestCondition, circumstances: Circumstances): Words {
  for (const { pattern, words } of SAYINGS) {
    const match = pattern.exec(message);
    if (match) return words(match, manifest, circumstances);
  }
  return { says: message };
}

function flawIn(manifest: ManifestCondition, circumstances: Circumstances): Words | undefined {
  const broken = rulesOf(manifest).find(({ reason }) => BROKEN_RULES.has(reason));
  if (broken) {
    const says = `its rule for ${broken.type} cannot be evaluated: ${broken.message}`;
    return { says, next: "correct the conditionRules of its manifestConfig" };
  }
  const feedback = findCondition(manifest.conditions, WorkCondition.StatusFeedbackSynced);
  if (feedback?.status === "False") {
    const why = feedback.message.replace(/^Sync status feedback failed with error /, "");
    return { says: `what it reports cannot be read: ${why}`, next: "correct the feedbackRules of its manifestConfig" };
  }
  const degraded = rulesOf(manifest).find(({ type, status }) => type === "Degraded" && status === "True");
  if (degraded) return { says: `Degraded: ${degraded.message}` };
  if (isReady(manifest)) return undefined;
  return { says: `not ready: ${valuesOf(manifest).join(", ")}`, next: kubectl("describe", manifest, circumstances) };
}

const BROKEN_RULES: ReadonlySet<string> = new Set(["ConditionRuleExpressionError", "ConditionRuleInvalid"]);

function rulesOf({ conditions }: ManifestCondition): readonly Condition[] {
  return conditions.filter(({ reason }) => reason.startsWith("ConditionRule"));
}

/** By the values that everybody knows; whoever reports others knows best what they mean. */
function isReady({ statusFeedback, resourceMeta }: ManifestCondition): boolean {
  const values = new Map((statusFeedback?.values ?? []).map(({ name, fieldValue }) => [name, fieldValue]));
  const text = (name: string) => values.get(name)?.string;
  const count = (name: string) => Number(values.get(name)?.integer ?? 0); // what is zero is often left out
  switch (resourceMeta.kind) {
    case "Pod":
      return !values.has("PodPhase") || text("PodPhase") === "Succeeded" || text("PodReady") === "True";
    case "Deployment":
      return count("AvailableReplicas") >= count("Replicas");
    case "DaemonSet":
      return count("NumberAvailable") >= count("DesiredNumberScheduled");
    default:
      return true;
  }
}

function valuesOf({ statusFeedback }: ManifestCondition): string[] {
  return (statusFeedback?.values ?? []).map(({ name, fieldValue }) => {
    const { integer, string, boolean, jsonRaw } = fieldValue;
    return `${name} ${integer ?? string ?? boolean ?? jsonRaw ?? ""}`;
  });
}

function kubectl(verb: "get" | "describe", { resourceMeta }: ManifestCondition, { cluster }: Circumstances): string {
  const { group, kind = "", resource = kind.toLowerCase(), namespace, name = "" } = resourceMeta;
  const what = group ? `${resource}.${group}` : resource;
  return `kubectl ${verb} ${what} ${name}${namespace ? ` -n ${namespace}` : ""} --context ${cluster}`;
}
