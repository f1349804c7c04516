import { describe, expect, it } from "vitest";
import type { ManagedCluster } from "#api/cluster";
import type { Condition } from "#api/meta";
import type { AppliedManifestWork, ManifestCondition, ManifestWork } from "#api/work";
import { explanationOf } from "./works-explanation.ts";
import type { WorkOnSpoke } from "./works-on-spoke.ts";

describe("why a work is as it is", () => {
  const at = "2026-01-01T00:00:00Z";
  const condition = (type: string, status: Condition["status"], message = ""): Condition => {
    return { type, status, message, reason: "R", lastTransitionTime: at, observedGeneration: 2 };
  };
  const cluster = (...conditions: Condition[]): ManagedCluster => ({
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name: "c1" },
    spec: { hubAcceptsClient: true },
    status: { conditions },
  });
  const available = cluster(
    condition("ManagedClusterJoined", "True"),
    condition("ManagedClusterConditionAvailable", "True"),
  );
  const work = (parts: Partial<ManifestWork["metadata"]>, status?: ManifestWork["status"]): ManifestWork => ({
    apiVersion: "work.open-cluster-management.io/v1",
    kind: "ManifestWork",
    metadata: {
      name: "w",
      namespace: "c1",
      generation: 2,
      finalizers: ["cluster.open-cluster-management.io/manifest-work-cleanup"],
      ...parts,
    },
    ...(status && { status }),
  });
  const manifest = (name: string, ...conditions: Condition[]) => ({
    resourceMeta: { ordinal: 0, kind: "ConfigMap", namespace: "default", name },
    conditions,
  });

  it.each<[why: string, cluster: ManagedCluster | undefined, work: ManifestWork, verdict: RegExp, next?: RegExp]>([
    ["its cluster is not there", undefined, work({}), /there is no ManagedCluster c1/, /capstan join/],
    [
      "its cluster is not accepted",
      { ...available, spec: { hubAcceptsClient: false } },
      work({}),
      /c1 is not accepted/,
      /capstan accept --clusters c1/,
    ],
    ["its cluster has not joined", cluster(), work({}), /has not joined yet/, /capstan doctor --context c1/],
    [
      "its cluster is lost",
      cluster(condition("ManagedClusterJoined", "True"), condition("ManagedClusterConditionAvailable", "Unknown")),
      work({}),
      /c1 has not been heard of since 2026-01-01/,
      /goes on by itself when it is back/,
    ],
    ["its agent has not seen it", available, work({ finalizers: [] }), /has not taken it up yet/, /capstan doctor/],
    [
      "it was changed a moment ago",
      available,
      work({ generation: 3 }, { conditions: [condition("Applied", "True")] }),
      /yet to report on that/,
    ],
    [
      "it is being deleted, and something holds it",
      available,
      work(
        { deletionTimestamp: at },
        { conditions: [condition("Deleting", "True", "configmaps default/a must go first")] },
      ),
      /configmaps default\/a must go first/,
    ],
    [
      "it is being deleted, and its cluster is lost",
      cluster(condition("ManagedClusterJoined", "True"), condition("ManagedClusterConditionAvailable", "Unknown")),
      work({ deletionTimestamp: at }),
      /being deleted, and waits for its cluster: c1 has not been heard of/,
    ],
  ])("%s", (_, managed, given, verdict, next) => {
    const explanation = explanationOf(given, managed);
    expect(explanation.isInPlace).toBe(false);
    expect(explanation.verdict).toMatch(verdict);
    if (next) expect(explanation.next).toMatch(next);
  });

  const explained = (manifest: ManifestCondition, more: Partial<ManifestWork> = {}, seen?: WorkOnSpoke) => {
    const isApplied = manifest.conditions.every(({ type, status }) => type !== "Applied" || status === "True");
    const conditions = [condition("Applied", isApplied ? "True" : "False")];
    const given = work({}, { conditions, resourceStatus: { manifests: [manifest] } });
    return explanationOf({ ...given, ...more }, available, seen);
  };
  const failed = (message: string) => condition("Applied", "False", `Failed to apply manifest: ${message}`);
  const executor: ManifestWork["spec"] = {
    executor: { subject: { type: "ServiceAccount", serviceAccount: { namespace: "ns", name: "robot" } } },
  };

  it.each<[why: string, said: string, says: RegExp, next: RegExp, spec?: ManifestWork["spec"]]>([
    [
      "its kind is not there yet",
      'the server doesn\'t have a resource type "Gadget"; install its CustomResourceDefinition first',
      /^the cluster does not know the kind Gadget yet$/,
      /install its CustomResourceDefinition on c1.*goes on by itself/,
    ],
    [
      "its namespace is not there",
      "its namespace does not exist; create it, or add it to the manifests",
      /its namespace does not exist/,
      /kubectl create namespace default --context c1/,
    ],
    [
      "its executor lacks a right",
      "not allowed to apply the resource  configmaps, default a, will try again in 1m0s",
      /its executor, ServiceAccount ns\/robot, lacks a right to configmaps/,
      /kubectl auth can-i --list --as system:serviceaccount:ns:robot -n default --context c1/,
      executor,
    ],
    [
      "its executor would give away what it lacks",
      "not allowed to apply the resource rbac.authorization.k8s.io roles, default a, will try again in 1m0s, error: permission escalation",
      /more rights than its executor, ServiceAccount ns\/robot, has itself/,
      /escalate.*bind/,
      executor,
    ],
    [
      "its executor would hold up an owner",
      "not allowed to apply the resource  configmaps, default a, will try again in 1m0s, error: it would hold up the deletion of RoleBinding victim",
      /ServiceAccount ns\/robot, may not do that: it would hold up the deletion of RoleBinding victim/,
      /blockOwnerDeletion/,
      executor,
    ],
    [
      "the agent may not ask what its executor may",
      'whether system:serviceaccount:ns:robot may apply the resource  configmaps, default a cannot be told: subjectaccessreviews is forbidden: User "agent" cannot create resource "subjectaccessreviews"',
      /cannot be told: subjectaccessreviews/,
      /capstan doctor --context c1/,
      executor,
    ],
    [
      "the agent itself lacks a right",
      'widgets.example.com "a" is forbidden: User "system:serviceaccount:ns:klusterlet-work-sa" cannot create resource "widgets" in API group "example.com" in the namespace "default"',
      /the agent itself, system:serviceaccount:ns:klusterlet-work-sa, may not create widgets.example.com/,
      /aggregate-to-work=true/,
    ],
    [
      "the server forbids it for another reason",
      'pods "a" is forbidden: exceeded quota: small',
      /c1 forbids it: exceeded quota: small/,
      /change the manifest/,
    ],
    [
      "a webhook of the cluster refuses it",
      'admission webhook "policy.example.com" denied the request: no latest tags',
      /webhook policy.example.com of c1 refuses it: no latest tags/,
      /change the manifest so that it is accepted/,
    ],
    [
      "a webhook of the cluster does not answer",
      'Internal error occurred: failed calling webhook "policy.example.com": connection refused',
      /webhook policy.example.com of c1 has to be asked first and does not answer/,
      /kubectl get validatingwebhookconfigurations/,
    ],
    [
      "somebody claims its fields",
      "kubectl claims .data.k",
      /somebody else answers for fields of it: kubectl claims .data.k/,
      /ignoreFields.*serverSideApply.force/,
    ],
    [
      "another work has it",
      "ManifestWork other is older, has this object too and wants it otherwise; change one of the two",
      /ManifestWork c1\/other is older/,
      /take it out of one of the two/,
    ],
    [
      "something keeps changing it",
      "something else on the cluster keeps changing it; it is applied again every few minutes until that ends",
      /something else on the cluster keeps changing it/,
      /kubectl get configmap a -n default --context c1 -o yaml --show-managed-fields/,
    ],
    [
      "it is invalid",
      'ConfigMap "a" is invalid: data: Too long',
      /c1 refuses it as invalid: data: Too long/,
      /correct the manifest/,
    ],
    ["it waits for another", "it waits for Namespace x", /it waits for Namespace x/, /by itself/],
  ])("%s", (_, said, says, next, spec) => {
    const { verdict, manifests } = explained(manifest("a", failed(said)), spec && { spec });
    expect(verdict).toBe("1 of its 1 manifests are not in place");
    expect(manifests[0]).toMatchObject({ object: "ConfigMap default/a", isInPlace: false });
    expect(manifests[0]?.says).toMatch(says);
    expect(manifests[0]?.next).toMatch(next);
  });

  it("the fields to ignore cannot be told", () => {
    const message = "Failed to process ignoreFields: JQ expression error in '.[': it ends too early";
    const [said] = explained(manifest("a", condition("Applied", "False", message))).manifests;
    expect(said?.says).toBe("its ignoreFields cannot be followed: JQ expression error in '.[': it ends too early");
    expect(said?.next).toMatch(/correct them/);
  });

  const good = [condition("Applied", "True"), condition("Available", "True")];
  const ruled = (type: string, status: Condition["status"], message: string, reason = "ConditionRuleEvaluated") => {
    return { ...condition(type, status, message), reason };
  };
  const reporting = (kind: string, values: Record<string, string | number>): ManifestCondition => ({
    resourceMeta: { ordinal: 0, kind, resource: `${kind.toLowerCase()}s`, namespace: "default", name: "a" },
    conditions: good,
    statusFeedback: {
      values: Object.entries(values).map(([name, value]) => ({
        name,
        fieldValue: typeof value === "number" ? { type: "Integer", integer: value } : { type: "String", string: value },
      })),
    },
  });

  it.each<[why: string, manifest: ManifestCondition, says: RegExp, next: RegExp]>([
    [
      "its feedback cannot be read",
      manifest(
        "a",
        ...good,
        condition("StatusFeedbackSynced", "False", "Sync status feedback failed with error the type is not found"),
      ),
      /^in place, but what it reports cannot be read: the type is not found$/,
      /feedbackRules/,
    ],
    [
      "its rule makes no sense",
      manifest("a", ...good, ruled("Fine", "False", "undeclared reference to 'x'", "ConditionRuleExpressionError")),
      /in place, but its rule for Fine cannot be evaluated: undeclared reference/,
      /conditionRules/,
    ],
    [
      "its Pod is not ready",
      reporting("Pod", { PodReady: "False", PodPhase: "Pending" }),
      /not ready: PodReady False, PodPhase Pending/,
      /kubectl describe pods a -n default --context c1/,
    ],
    [
      "its Pods are not ready",
      reporting("Deployment", { Replicas: 2 }),
      /not ready: Replicas 2/,
      /kubectl describe deployments a -n default --context c1/,
    ],
    [
      "its daemons are not ready",
      reporting("DaemonSet", { NumberAvailable: 1, DesiredNumberScheduled: 3 }),
      /not ready/,
      /kubectl describe daemonsets/,
    ],
  ])("it is in place, but %s", (_, given, says, next) => {
    const { verdict, isInPlace, manifests } = explained(given);
    expect([verdict, isInPlace]).toEqual(["Its one manifest is in place, but 1 is not as wished", true]);
    expect(manifests[0]).toMatchObject({ isInPlace: true, isFlawed: true });
    expect(manifests[0]?.says).toMatch(says);
    expect(manifests[0]?.next).toMatch(next);
  });

  it.each<[why: string, manifest: ManifestCondition, says: string]>([
    [
      "a rule of its own is not fulfilled",
      manifest("a", ...good, ruled("Complete", "False", "state is new")),
      "in place, not Complete: state is new",
    ],
    [
      "its Pods run",
      reporting("Deployment", { Replicas: 2, AvailableReplicas: 2 }),
      "in place, Replicas 2, AvailableReplicas 2",
    ],
    [
      "its Pod has ended",
      reporting("Pod", { PodReady: "False", PodPhase: "Succeeded" }),
      "in place, PodReady False, PodPhase Succeeded",
    ],
  ])("it is in place, and %s", (_, given, says) => {
    const { verdict, manifests } = explained(given);
    expect([verdict, manifests[0]?.says]).toEqual(["Its one manifest is in place", says]);
    expect(manifests[0]?.isFlawed).toBeUndefined();
  });

  it("it is finished", () => {
    const conditions = [condition("Applied", "True"), condition("Complete", "True")];
    expect(explanationOf(work({}, { conditions }), available)).toMatchObject({
      verdict: "It is finished, and is not applied again",
      isInPlace: true,
    });
  });

  it("an object is not on the cluster, or nobody can look", () => {
    const absent = manifest(
      "a",
      condition("Applied", "True"),
      condition("Available", "False", "Resource is not available"),
    );
    expect(explained(absent).manifests[0]).toMatchObject({
      isInPlace: false,
      says: "it is not on the cluster",
      next: "kubectl get configmap a -n default --context c1",
    });
    const hidden = manifest(
      "a",
      condition("Applied", "True"),
      condition("Available", "Unknown", "Failed to fetch resource: x"),
    );
    expect(explained(hidden).manifests[0]?.says).toBe(
      "whether it is there cannot be told: Failed to fetch resource: x",
    );
  });

  it("a finalizer of an object holds up its end, which is named where the cluster can be asked", () => {
    const message = "ManifestWork is being deleted; on the cluster configmaps default/a, pods p must go first";
    const going = work({ deletionTimestamp: at }, { conditions: [condition("Deleting", "True", message)] });
    expect(explanationOf(going, available).next).toMatch(
      /kubectl get configmaps a -n default -o jsonpath=\{.metadata.finalizers\} --context c1/,
    );
    const lingering = "on the cluster finalizers hold configmaps default/a by example.com/wait";
    expect(explanationOf(going, available, { lingering }).next).toBe(lingering);
  });

  it("its agent does not run, which the cluster tells where it can be asked", () => {
    const agent = "0 of 1 Pods of Deployment agents/klusterlet-work-agent are available";
    const untaken = explanationOf(work({ finalizers: [] }), available, { agent });
    expect(untaken.verdict).toBe(`The work agent of c1 has not taken it up yet: ${agent}`);
    const placed = explained(manifest("a", ...good), {}, { agent });
    expect(placed.verdict).toBe(`Its one manifest is in place, but nobody keeps it so: ${agent}`);
    expect(placed.next).toMatch(/capstan doctor --context c1/);
  });

  it("what has left it is held until somebody confirms", () => {
    const held =
      "Nothing is removed, because the hub is older. If it is to go nevertheless: kubectl annotate appliedmanifestwork h-w work.capstan.dev/removal=confirmed";
    const record: AppliedManifestWork = {
      apiVersion: "work.open-cluster-management.io/v1",
      kind: "AppliedManifestWork",
      metadata: { name: "h-w", annotations: { "work.capstan.dev/removal-held": held } },
    };
    const { verdict, next } = explained(manifest("a", ...good), {}, { record });
    expect(verdict).toBe("What has left it is still on c1. Nothing is removed, because the hub is older");
    expect(next).toBe(
      "if it is to go: kubectl annotate appliedmanifestwork h-w work.capstan.dev/removal=confirmed --context c1",
    );
  });

  it("counts the manifests that are not in place", () => {
    const bad = manifest("bad", failed("something that nobody has heard of"));
    const status = {
      conditions: [condition("Applied", "False", "Failed to apply manifest work")],
      resourceStatus: { manifests: [manifest("good", ...good), bad] },
    };
    const { verdict, manifests } = explanationOf(work({}, status), available);
    expect(verdict).toBe("1 of its 2 manifests are not in place");
    expect(manifests.map(({ object, says }) => `${object}: ${says}`)).toEqual([
      "ConfigMap default/good: in place",
      "ConfigMap default/bad: something that nobody has heard of",
    ]);
  });
});
