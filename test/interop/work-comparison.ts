/** The same works on two clusters, one served by upstream's agent and one by ours: what is said of them, field by field. */
import { expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import type { Condition, DynamicObject } from "#api/meta";
import type { ManifestWork } from "#api/work";
import { configMap, gadgetDefinition, type Spec } from "../suites/work/stage.ts";
import { eventually } from "../support/eventually.ts";
import type { FleetCluster } from "./work-fleet.ts";
import { configs } from "./work-served.ts";

interface Compared {
  readonly manifests: readonly DynamicObject[];
  readonly spec?: Spec;
  readonly applied: "True" | "False";
  readonly available: "True" | "False" | "Unknown";
  /** What must be on the spoke before. */
  prepare?(cluster: FleetCluster): Promise<unknown>;
  /** A condition whose message has other words, and why. */
  readonly differs?: { readonly type: string; readonly because: string };
  /** Why our record lists something else. */
  readonly recordDiffers?: string;
}

const NAMESPACE = "compared";
const rules = (
  resource: string,
  name: string,
  more: Omit<NonNullable<Spec["manifestConfigs"]>[number], "resourceIdentifier">,
): Spec => ({
  manifestConfigs: [
    {
      resourceIdentifier: {
        group: resource === "deployments" ? "apps" : resource === "jobs" ? "batch" : "",
        resource,
        namespace: NAMESPACE,
        name,
      },
      ...more,
    },
  ],
});
const as = (name: string): Spec => ({
  executor: { subject: { type: "ServiceAccount", serviceAccount: { namespace: NAMESPACE, name } } },
});

function object(apiVersion: string, kind: string, name: string, more: object = {}): DynamicObject {
  return { apiVersion, kind, metadata: { name, namespace: NAMESPACE }, ...more };
}

const template = (name: string, more: object = {}) => ({
  metadata: { labels: { app: name } },
  spec: { containers: [{ name: "main", image: "busybox" }], ...more },
});
const deployment = (name: string) =>
  object("apps/v1", "Deployment", name, {
    spec: { replicas: 2, selector: { matchLabels: { app: name } }, template: template(name) },
  });
const job = (name: string) =>
  object("batch/v1", "Job", name, { spec: { template: template(name, { restartPolicy: "Never" }) } });

const FAILURES_IN_OUR_WORDS = {
  type: "Applied",
  because: "our messages say what to do next, and hold no text of the server that could repeat a Secret",
} as const;

const COMPARED: Readonly<Record<string, Compared>> = {
  "objects with and without a namespace": {
    manifests: [
      configMap(NAMESPACE, "plain"),
      // Upstream fails on one that says a namespace though its kind has none; we leave the namespace out.
      { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "compared" }, rules: [] },
      object("v1", "Secret", "plain", { stringData: { a: "b" } }),
    ],
    applied: "True",
    available: "True",
  },
  "a kind and an object of it": {
    manifests: [
      { ...gadgetDefinition("compared.example.com") },
      object("compared.example.com/v1", "Gadget", "one", { spec: { size: 1 } }),
    ],
    applied: "True",
    available: "True",
  },
  "the well-known values of a Deployment": {
    manifests: [deployment("web")],
    spec: rules("deployments", "web", { feedbackRules: [{ type: "WellKnownStatus" }] }),
    applied: "True",
    available: "True",
  },
  "values by path, of all scalars, and none where there is nothing": {
    manifests: [deployment("paths")],
    spec: rules("deployments", "paths", {
      feedbackRules: [
        {
          type: "JSONPaths",
          jsonPaths: [
            { name: "replicas", path: ".spec.replicas" },
            { name: "name", path: ".metadata.name" },
            { name: "nothing", path: ".spec.nothing" },
            { name: "image", path: ".spec.template.spec.containers[0].image", version: "v1" },
          ],
        },
      ],
    }),
    applied: "True",
    available: "True",
  },
  "values that are no scalars": {
    manifests: [deployment("raw")],
    spec: rules("deployments", "raw", {
      feedbackRules: [{ type: "JSONPaths", jsonPaths: [{ name: "template", path: ".spec.template" }] }],
    }),
    applied: "True",
    available: "True",
    differs: { type: "StatusFeedbackSynced", because: "we name types as JSON does, and upstream as Go does" },
  },
  "well-known values of a kind that has none": {
    manifests: [configMap(NAMESPACE, "none")],
    spec: rules("configmaps", "none", { feedbackRules: [{ type: "WellKnownStatus" }] }),
    applied: "True",
    available: "True",
  },
  "a Job, and when it is complete": {
    manifests: [job("once")],
    spec: rules("jobs", "once", {
      feedbackRules: [{ type: "WellKnownStatus" }],
      conditionRules: [{ condition: "Complete", type: "WellKnownConditions" }],
    }),
    applied: "True",
    available: "True",
  },
  "conditions of one's own, over two manifests": {
    manifests: [configMap(NAMESPACE, "rule-1", { state: "good" }), configMap(NAMESPACE, "rule-2", { state: "bad" })],
    spec: rules("configmaps", "rule-*", {
      conditionRules: [
        {
          condition: "Healthy",
          type: "CEL",
          celExpressions: ["object.data.state == 'good'"],
          messageExpression: "'it is ' + object.data.state",
        },
        { condition: "Progressing", type: "CEL", celExpressions: ["object.data.state == 'good'"], message: "so it is" },
      ],
    }),
    applied: "True",
    available: "True",
  },
  "an expression that makes no sense": {
    manifests: [configMap(NAMESPACE, "senseless")],
    spec: rules("configmaps", "senseless", {
      conditionRules: [{ condition: "Healthy", type: "CEL", celExpressions: ["object.data.missing == 'x'"] }],
    }),
    applied: "True",
    available: "True",
    differs: { type: "Healthy", because: "the words of the expression's error are those of its interpreter" },
  },
  "only to look at what is not there": {
    manifests: [configMap(NAMESPACE, "absent")],
    spec: { manifestConfigs: [configs(NAMESPACE, "absent", { type: "ReadOnly" })] },
    applied: "True",
    available: "False",
  },
  "only to create": {
    manifests: [configMap(NAMESPACE, "created-once")],
    spec: { manifestConfigs: [configs(NAMESPACE, "created-once", { type: "CreateOnly" })] },
    applied: "True",
    available: "True",
  },
  "a bad manifest among good ones": {
    manifests: [
      configMap("nowhere", "bad"),
      { apiVersion: "example.org/v1", kind: "Nothing", metadata: { name: "x", namespace: NAMESPACE } },
      configMap(NAMESPACE, "good"),
    ],
    applied: "False",
    available: "False",
    differs: FAILURES_IN_OUR_WORDS,
    recordDiffers:
      "upstream records nothing for as long as one manifest cannot be placed; we record what there is, and what may be there because an answer was lost",
  },
  "a conflict on the server": {
    prepare: ({ spoke }) =>
      spoke.client.create(
        ConfigMap,
        { metadata: { name: "conflict", namespace: NAMESPACE }, data: { k: "theirs" } },
        { fieldManager: "somebody" },
      ),
    manifests: [configMap(NAMESPACE, "conflict")],
    spec: { manifestConfigs: [configs(NAMESPACE, "conflict", { type: "ServerSideApply" })] },
    applied: "False",
    available: "True",
    differs: FAILURES_IN_OUR_WORDS,
  },
  "an account that may do nothing": {
    prepare: (cluster) => cluster.account(NAMESPACE, "nobody", []),
    manifests: [configMap(NAMESPACE, "forbidden")],
    spec: as("nobody"),
    applied: "False",
    available: "False",
  },
};

export function comparisonCases({ theirs, ours }: { theirs(): FleetCluster; ours(): FleetCluster }): void {
  it("have a place for what is compared", async () => {
    for (const cluster of [theirs(), ours()]) await cluster.namespace(NAMESPACE);
  });

  it.each(Object.entries(COMPARED))("say the same of %s", async (what, compared) => {
    const name = what.toLowerCase().replace(/\W+/g, "-");
    const { manifests, spec, applied, available, differs, recordDiffers } = compared;
    for (const cluster of [theirs(), ours()]) {
      await compared.prepare?.(cluster);
      await cluster.work(name, manifests, spec);
    }
    for (const cluster of [theirs(), ours()]) await cluster.untilReported(name, { applied, available });
    await eventually(async () => {
      const [upstream, own] = [await theirs().read(name), await ours().read(name)];
      expect(told(own, differs?.type)).toEqual(told(upstream, differs?.type));
      expect(own.metadata.finalizers).toEqual(upstream.metadata.finalizers);
    });
    await eventually(async () => {
      const [upstream, own] = [await theirs().record(name), await ours().record(name)];
      expect(own.spec).toEqual({ ...upstream.spec, agentID: own.spec?.agentID });
      if (recordDiffers === undefined) expect(listed(own)).toEqual(listed(upstream));
      else expect(listed(own), recordDiffers).not.toEqual(listed(upstream));
      expect(own.metadata.name).toBe(upstream.metadata.name);
      expect(own.metadata.finalizers).toEqual(upstream.metadata.finalizers);
    });
  });
}

/**
 * All that programs read in a status. Left out are the moments, the order of conditions, which is nobody's promise, and
 * names that are empty: upstream writes them, we leave them out, and readers take both for the same.
 */
function told({ status }: ManifestWork, inOtherWords: string | undefined) {
  const conditions = (all: readonly Condition[] = []) =>
    [...all]
      .sort((a, b) => (a.type < b.type ? -1 : 1))
      .map(({ lastTransitionTime: _, message, ...rest }) => ({
        ...rest,
        ...(rest.type !== inOtherWords && { message }),
      }));
  const manifests = status?.resourceStatus?.manifests ?? [];
  return {
    conditions: conditions(status?.conditions),
    manifests: manifests.map(({ resourceMeta, conditions: own, statusFeedback }) => ({
      resourceMeta: Object.fromEntries(Object.entries(resourceMeta).filter(([, value]) => value !== "")),
      conditions: conditions(own),
      feedback: statusFeedback?.values ?? [],
    })),
  };
}

/** The objects by name: their uids differ, as they are on two clusters. */
function listed({ status }: { status?: { appliedResources?: readonly object[] } }) {
  return (status?.appliedResources ?? []).map((resource) =>
    Object.fromEntries(Object.entries(resource).filter(([key, value]) => key !== "uid" && value !== "")),
  );
}
