import { describe, expect, it } from "vitest";
import { builtinResources } from "./builtin.ts";
import { context, created, dependencies, find, shown, updated } from "./testing/drafts.ts";

const resources = builtinResources(dependencies());

describe("the built-in resources", () => {
  it("have each a place of their own in the URL space", () => {
    const places = resources.map(({ group, version, plural }) => `${group}/${version}/${plural}`);
    expect(new Set(places).size).toBe(places.length);
  });

  it("are all known to the type table, because decoding depends on it", () => {
    for (const { strategy, kind } of resources) {
      expect(strategy.decode({ apiVersion: "", kind, metadata: { name: "x" } }).unknownFields, kind).toEqual([]);
    }
  });

  it("share storage only where they are versions of one another", () => {
    const shared = resources.filter(({ storage, answer }) => {
      return !answer && resources.filter((other) => other.storage === storage).length > 1;
    });
    expect(shared.map(({ group, version, plural }) => `${group}/${version}/${plural}`)).toEqual([
      "/v1/events",
      "events.k8s.io/v1/events",
      "autoscaling/v2/horizontalpodautoscalers",
      "autoscaling/v1/horizontalpodautoscalers",
    ]);
  });

  it("fill in nothing the second time, because defaults run again on every update", () => {
    for (const resource of resources.filter(({ answer }) => !answer)) {
      const { object } = created(resource, {});
      const again = structuredClone(object);
      resource.strategy.default(again);
      expect(again, resource.kind).toEqual(object);
    }
  });

  it("show a row with one cell per column, even for an object that says nothing", () => {
    for (const { table, kind, plural } of resources) {
      const row = table.row({ apiVersion: "v1", kind, metadata: { name: "x" } }, context.now);
      expect(row.length, plural).toBe(table.columns.length);
    }
  });

  const unconditional: [kind: string, unconditionalUpdate: boolean, createOnUpdate: boolean][] = [
    ["ConfigMap", true, false],
    ["Lease", false, true],
    ["Endpoints", true, true],
    ["Event", true, true],
    ["LimitRange", true, true],
    ["Service", true, true],
    ["RuntimeClass", false, true],
    ["ClusterRoleBinding", true, true],
    ["PodDisruptionBudget", false, false],
    ["MutatingWebhookConfiguration", false, false],
    ["CSIDriver", false, false],
    ["APIService", false, false],
  ];
  it.each(unconditional)(
    "%s may be put without a resourceVersion: %s, and before it exists: %s",
    (kind, blind, creating) => {
      const { unconditionalUpdate, createOnUpdate } = find(kind).strategy;
      expect({ unconditionalUpdate, createOnUpdate }).toEqual({ unconditionalUpdate: blind, createOnUpdate: creating });
    },
  );

  it("count generations exactly where Kubernetes does", () => {
    const counting = resources.filter(({ strategy }) => strategy.tracksGeneration).map(({ kind }) => kind);
    expect([...new Set(counting)].sort()).toEqual([
      "CronJob",
      "DaemonSet",
      "Deployment",
      "EndpointSlice",
      "FlowSchema",
      "HorizontalPodAutoscaler",
      "Ingress",
      "IngressClass",
      "Job",
      "MutatingWebhookConfiguration",
      "NetworkPolicy",
      "Pod",
      "PodDisruptionBudget",
      "PodTemplate",
      "PriorityClass",
      "PriorityLevelConfiguration",
      "ReplicaSet",
      "ReplicationController",
      "StatefulSet",
      "ValidatingWebhookConfiguration",
    ]);
  });
});

describe("webhook configurations", () => {
  const webhook = {
    name: "a.example.com",
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    clientConfig: { service: { namespace: "n", name: "s" } },
    rules: [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }],
  };

  it("are filled in", () => {
    const { object, errors } = created(find("MutatingWebhookConfiguration"), { webhooks: [webhook] });
    expect(errors).toEqual([]);
    expect(object.webhooks).toMatchObject([
      {
        failurePolicy: "Fail",
        matchPolicy: "Equivalent",
        reinvocationPolicy: "Never",
        timeoutSeconds: 10,
        namespaceSelector: {},
        objectSelector: {},
        clientConfig: { service: { port: 443 } },
        rules: [{ scope: "*" }],
      },
    ]);
  });

  const rows: [why: string, change: Record<string, unknown>, errors: string[]][] = [
    ["names have three parts", { name: "a.b" }, ["webhooks[0].name: Invalid"]],
    ["side effects must be declared", { sideEffects: undefined }, ["webhooks[0].sideEffects: Required"]],
    ["and harmless", { sideEffects: "Some" }, ["webhooks[0].sideEffects: NotSupported"]],
    ["versions must be declared", { admissionReviewVersions: [] }, ["webhooks[0].admissionReviewVersions: Required"]],
    ["patience is limited", { timeoutSeconds: 31 }, ["webhooks[0].timeoutSeconds: Invalid"]],
    ["somebody must be called", { clientConfig: {} }, ["webhooks[0].clientConfig: Required"]],
  ];
  it.each(rows)("%s", (_, change, errors) => {
    const { errors: found } = created(find("ValidatingWebhookConfiguration"), {
      webhooks: [{ ...webhook, ...change }],
    });
    expect(shown(found)).toEqual(errors);
  });
});

describe("role bindings", () => {
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };

  it("fill in the group of users and groups, and none for service accounts", () => {
    const subjects = [
      { kind: "User", name: "a" },
      { kind: "ServiceAccount", name: "b", namespace: "c" },
    ];
    const { object, errors } = created(find("ClusterRoleBinding"), {
      roleRef: { kind: "ClusterRole", name: "view" },
      subjects,
    });
    expect(errors).toEqual([]);
    expect(object.roleRef).toEqual(roleRef);
    expect(object.subjects).toEqual([{ ...subjects[0], apiGroup: "rbac.authorization.k8s.io" }, subjects[1]]);
  });

  const rows: [why: string, kind: string, body: Record<string, unknown>, errors: string[]][] = [
    [
      "a cluster binding grants no Role",
      "ClusterRoleBinding",
      { roleRef: { ...roleRef, kind: "Role" } },
      ["roleRef.kind: NotSupported"],
    ],
    ["a binding names its role", "RoleBinding", { roleRef: { ...roleRef, name: "" } }, ["roleRef.name: Required"]],
    [
      "subjects are of three kinds",
      "RoleBinding",
      { roleRef, subjects: [{ kind: "Robot", name: "r" }] },
      ["subjects[0].kind: NotSupported"],
    ],
    [
      "cluster bindings name namespaces",
      "ClusterRoleBinding",
      { roleRef, subjects: [{ kind: "ServiceAccount", name: "a" }] },
      ["subjects[0].namespace: Required"],
    ],
    ["rules have verbs", "Role", { rules: [{ apiGroups: [""], resources: ["pods"] }] }, ["rules[0].verbs: Required"]],
    [
      "rules have groups and resources",
      "Role",
      { rules: [{ verbs: ["get"] }] },
      ["rules[0].apiGroups: Required", "rules[0].resources: Required"],
    ],
    [
      "URLs are not in a namespace",
      "Role",
      { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] },
      ["rules[0].nonResourceURLs: Invalid"],
    ],
    ["URLs are for cluster roles", "ClusterRole", { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] }, []],
  ];
  it.each(rows)("%s", (_, kind, body, errors) => {
    expect(shown(created(find(kind), body).errors)).toEqual(errors);
  });

  it("never point to another role, because whoever holds them would not know what they hold", () => {
    const resource = find("ClusterRoleBinding");
    const { object } = created(resource, { roleRef });
    const { errors } = updated(resource, object, (draft) => {
      draft.roleRef = { ...roleRef, name: "edit" };
    });
    expect(errors).toEqual([
      {
        reason: "FieldValueInvalid",
        field: "roleRef",
        message:
          'Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"edit"}: field is immutable',
      },
    ]);
  });
});

describe("leases", () => {
  it("last for a positive time", () => {
    expect(shown(created(find("Lease"), { spec: { leaseDurationSeconds: 0 } }).errors)).toEqual([
      "spec.leaseDurationSeconds: Invalid",
    ]);
  });

  it("have times with six decimals", () => {
    expect(() => created(find("Lease"), { spec: { renewTime: "2026-01-01T00:00:00Z" } })).toThrow("cannot parse");
  });
});
