/** Admission webhooks: who is asked, and what they are shown. */
import { isDeepStrictEqual } from "node:util";
import { beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { allowed, denied, patching } from "../support/webhook-server.ts";
import { at, deployment, inGroup, refusal, refused, type Staged } from "./stage.ts";
import { askedAbout, configMap, core, webhookStage } from "./webhook-stage.ts";

export function admissionWebhooksSuite(stage: Staged): void {
  const hooks = webhookStage(stage);
  const { fresh, path, post, requests, asked } = askedAbout(stage, hooks);

  beforeEach(async () => {
    hooks().answers();
    await hooks().clear();
  });

  describe("a question", () => {
    it("admission-webhooks.create: shows a new object before and after the server has filled it in", async () => {
      await hooks().configure("mutating", "q", { name: "first" });
      await hooks().configure("validating", "r", { name: "last" });
      hooks().answers();
      const { body } = await stage().admin.post(`${path()}?fieldManager=me`, {
        metadata: { generateName: "gen-" },
        data: { a: "1" },
      });
      const [first, last] = requests();
      const about = {
        kind: { group: "", version: "v1", kind: "ConfigMap" },
        resource: { group: "", version: "v1", resource: "configmaps" },
        requestKind: { group: "", version: "v1", kind: "ConfigMap" },
        requestResource: { group: "", version: "v1", resource: "configmaps" },
        namespace: hooks().space,
        operation: "CREATE",
        oldObject: null,
        dryRun: false,
        options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "me" },
        userInfo: { groups: expect.arrayContaining(["system:masters", "system:authenticated"]) },
      };
      expect(first).toMatchObject({ ...about, object: { kind: "ConfigMap", apiVersion: "v1", data: { a: "1" } } });
      expect(first?.name).toBeUndefined();
      expect(first?.object?.metadata).toMatchObject({ generateName: "gen-", managedFields: [{ manager: "me" }] });
      expect(Object.keys(first?.object?.metadata ?? {}).toSorted()).toEqual([
        "generateName",
        "managedFields",
        "namespace",
      ]);
      const { name, uid } = body.metadata;
      expect(last).toMatchObject({ ...about, name, object: { metadata: { name, uid } } });
      expect(first?.uid).not.toBe(last?.uid);
      expect(
        hooks()
          .calls()
          .map(({ query }) => query),
      ).toEqual(["timeout=10s", "timeout=10s"]);
    });

    it("admission-webhooks.update: shows what was and what will be, for a PUT, a patch and an apply", async () => {
      const name = fresh();
      const { body } = await post(name);
      await hooks().configure("validating", "q", { name: "hook", rules: core(["configmaps"], ["UPDATE"]) });
      hooks().answers();
      const { admin } = stage();
      await admin.put(path(name), { ...body, data: { a: "2" } });
      await admin.patch(path(name), { data: { b: "1" } });
      await admin.request("PATCH", `${path(name)}?fieldManager=me&force=true`, {
        body: configMap(name, { c: "1" }),
        type: "application/apply-patch+yaml",
      });
      const seen = requests().map(({ operation, name: called, object, oldObject, options }) => [
        operation,
        called === name,
        oldObject?.data,
        object?.data,
        options.kind,
      ]);
      const questions = [
        ["UPDATE", true, { a: "1" }, { a: "2" }, "UpdateOptions"],
        ["UPDATE", true, { a: "2" }, { a: "2", b: "1" }, "UpdateOptions"],
        ["UPDATE", true, { a: "2", b: "1" }, { a: "2", b: "1", c: "1" }, "UpdateOptions"],
      ];
      // kube-apiserver may begin a patch with an older state from its cache, and asks again when it has noticed.
      const isFirstTry = (asked: unknown[]) => !questions.some((question) => isDeepStrictEqual(question, asked));
      expect(seen.filter((asked) => !isFirstTry(asked))).toEqual(questions);
      expect(seen.at(-1)).toEqual(questions.at(-1));
    });

    it("admission-webhooks.apply-creates: shows an apply of something new as a create", async () => {
      await hooks().configure("validating", "q", { name: "hook" });
      hooks().answers();
      const name = fresh();
      await stage().admin.request("PATCH", `${path(name)}?fieldManager=me`, {
        body: configMap(name),
        type: "application/apply-patch+yaml",
      });
      expect(requests()).toMatchObject([
        { operation: "CREATE", name, oldObject: null, options: { kind: "CreateOptions" } },
      ]);
    });

    it("admission-webhooks.delete: shows what goes, for one object and for each of many", async () => {
      const [one, ...many] = [fresh(), fresh(), fresh()];
      for (const name of [one, ...many]) await post(name ?? "", {}, { labels: { batch: "many" } });
      await hooks().configure("validating", "q", { name: "hook", rules: core(["configmaps"], ["DELETE"]) });
      hooks().answers();
      await stage().admin.delete(path(one), { propagationPolicy: "Background", gracePeriodSeconds: 0 });
      expect(requests()).toMatchObject([
        {
          operation: "DELETE",
          name: one,
          object: null,
          oldObject: { kind: "ConfigMap", metadata: { name: one } },
          options: {
            kind: "DeleteOptions",
            apiVersion: "meta.k8s.io/v1",
            propagationPolicy: "Background",
            gracePeriodSeconds: 0,
          },
        },
      ]);
      await stage().admin.delete(`${path()}?labelSelector=batch%3Dmany`);
      const gone = requests().slice(1);
      expect(gone.map(({ oldObject }) => oldObject?.metadata.name).toSorted()).toEqual(many.toSorted());
    });

    it("admission-webhooks.dry-run: says that a request leaves no trace", async () => {
      await hooks().configure("mutating", "q", { name: "hook", sideEffects: "NoneOnDryRun" });
      hooks().answers();
      await stage().admin.post(`${path()}?dryRun=All&fieldValidation=Strict`, configMap(fresh()));
      expect(requests()).toMatchObject([
        { dryRun: true, options: { kind: "CreateOptions", dryRun: ["All"], fieldValidation: "Strict" } },
      ]);
    });

    it("admission-webhooks.v1beta1: is asked in the old version of those who know no other", async () => {
      await hooks().configure("mutating", "q", { name: "hook", admissionReviewVersions: ["v9", "v1beta1"] });
      // Whoever answers in the old version need not say what it is an answer to.
      hooks().answers({
        hook: () => ({
          response: { allowed: true, patch: patching({ op: "add", path: "/data/b", value: "2" }).patch },
        }),
      });
      expect((await post(fresh())).body.data).toEqual({ a: "1", b: "2" });
      expect(hooks().calls()[0]?.review.apiVersion).toBe("admission.k8s.io/v1beta1");
    });

    it("admission-webhooks.subresources: is asked about parts by their name", async () => {
      const { admin } = stage();
      const { space } = hooks();
      await eventually(async () => expect((await admin.get(at(space, "serviceaccounts", "default"))).code).toBe(200));
      // No scheduler is called so: nobody else writes the status.
      await admin.post(at(space, "pods"), {
        metadata: { name: "p" },
        spec: { schedulerName: "nobody", containers: [{ name: "c", image: "i" }] },
      });
      await hooks().configure("validating", "q", {
        name: "hook",
        rules: core(["pods/status", "pods/binding", "pods/eviction", "serviceaccounts/token"]),
      });
      hooks().answers();
      await admin.patch(`${at(space, "pods", "p")}/status`, { status: { message: "m" } });
      await admin.post(`${at(space, "pods", "p")}/binding`, { metadata: { name: "p" }, target: { name: "node" } });
      await admin.post(`${at(space, "serviceaccounts", "default")}/token`, { spec: { expirationSeconds: 1000 } });
      await admin.post(`${at(space, "pods", "p")}/eviction`, {
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name: "p" },
        deleteOptions: { gracePeriodSeconds: 0 },
      });
      const seen = requests().map(({ operation, kind, resource, subResource, name, object }) => [
        operation,
        `${kind.group}/${kind.kind}`,
        `${resource.resource}/${subResource}`,
        name,
        object?.kind,
      ]);
      expect(seen).toEqual([
        ["UPDATE", "/Pod", "pods/status", "p", "Pod"],
        ["CREATE", "/Binding", "pods/binding", "p", "Binding"],
        ["CREATE", "authentication.k8s.io/TokenRequest", "serviceaccounts/token", "default", "TokenRequest"],
        ["CREATE", "policy/Eviction", "pods/eviction", "p", "Eviction"],
      ]);
    });

    it("admission-webhooks.scale: is asked about a Scale, and may change it", async () => {
      const { admin } = stage();
      const deployments = (name?: string) => inGroup("apps", "v1", "deployments", hooks().space, name);
      await admin.post(deployments(), deployment("scaled", 0));
      await hooks().configure("mutating", "q", {
        name: "hook",
        rules: [{ operations: ["UPDATE"], apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments/scale"] }],
      });
      hooks().answers({
        hook: (review) => allowed(review, patching({ op: "replace", path: "/spec/replicas", value: 2 })),
      });
      const { body } = await admin.patch(`${deployments("scaled")}/scale`, { spec: { replicas: 1 } });
      expect(body.spec).toEqual({ replicas: 2 });
      // Asked again where a controller wrote in between.
      expect(requests()[0]).toMatchObject({
        kind: { group: "autoscaling", version: "v1", kind: "Scale" },
        subResource: "scale",
        object: { kind: "Scale", spec: { replicas: 1 } },
        oldObject: { kind: "Scale", spec: {} },
      });
      await admin.delete(deployments("scaled"));
    });

    it.each([
      ["Equivalent", ["HorizontalPodAutoscaler autoscaling/v2 asked as autoscaling/v1"]],
      ["Exact", []],
    ] as const)(
      "admission-webhooks.versions: is asked in the version that was named, when matches are %s",
      async (matchPolicy, expected) => {
        const { admin } = stage();
        const scalers = (name?: string) =>
          inGroup("autoscaling", "v1", "horizontalpodautoscalers", hooks().space, name);
        await hooks().configure("mutating", "q", {
          name: "hook",
          matchPolicy,
          rules: [
            {
              operations: ["CREATE"],
              apiGroups: ["autoscaling"],
              apiVersions: ["v2"],
              resources: ["horizontalpodautoscalers"],
            },
          ],
        });
        const metrics = [
          { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 33 } } },
        ];
        hooks().answers({
          hook: (review) => allowed(review, patching({ op: "add", path: "/spec/metrics", value: metrics })),
        });
        const { body } = await admin.post(scalers(), {
          metadata: { name: "scaler" },
          spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "x" } },
        });
        const seen = requests().map(({ kind, requestKind, object }) => {
          expect(object?.apiVersion).toBe(`${kind.group}/${kind.version}`);
          return `${kind.kind} ${kind.group}/${kind.version} asked as ${requestKind.group}/${requestKind.version}`;
        });
        expect(seen).toEqual(expected);
        expect(body.spec).toMatchObject({ targetCPUUtilizationPercentage: expected.length > 0 ? 33 : 80 });
        await admin.delete(scalers("scaler"));
      },
    );
  });

  describe("who is asked", () => {
    it("admission-webhooks.namespace-selector: is chosen by the labels of the namespace, and of a Namespace by its own", async () => {
      const labelled = { matchLabels: { "webhook-suite": "yes" } };
      await hooks().configure("validating", "q", {
        name: "hook",
        namespaceSelector: labelled,
        rules: core(["configmaps", "namespaces"], ["CREATE"]),
      });
      hooks().answers();
      await post(fresh());
      expect(asked()).toEqual([]);
      const { body } = await stage().admin.post("/api/v1/namespaces", {
        metadata: { generateName: "suite-", labels: labelled.matchLabels },
      });
      await eventually(async () => {
        expect((await stage().admin.post(at(body.metadata.name, "configmaps"), configMap("x"))).code).toBe(201);
        expect(requests()).toContainEqual(expect.objectContaining({ name: "x" }));
      });
      expect(requests()[0]).toMatchObject({ resource: { resource: "namespaces" }, operation: "CREATE" });
      await stage().admin.delete(`/api/v1/namespaces/${body.metadata.name}`);
    });

    it("admission-webhooks.object-selector: is chosen by labels that the object had or will have", async () => {
      await hooks().configure("validating", "q", { name: "hook", objectSelector: { matchLabels: { seen: "yes" } } });
      const name = fresh();
      const labelled = (labels: object) => stage().admin.patch(path(name), { metadata: { labels } });
      hooks().answers();
      await post(name);
      expect(asked()).toHaveLength(0);
      await labelled({ seen: "yes" });
      await labelled({ seen: null });
      await labelled({ other: "yes" });
      expect(asked()).toHaveLength(2);
    });

    it("admission-webhooks.match-conditions: is chosen by conditions, which may end a request that they cannot judge", async () => {
      const conditions = (...expressions: string[]) =>
        expressions.map((expression, index) => ({ name: `c${index}`, expression }));
      await hooks().configure("validating", "q", {
        name: "hook",
        matchConditions: conditions(
          "object == null || has(object.data)",
          "!request.userInfo.groups.exists(g, g == 'nobody') && authorizer.requestResource.check('create').allowed()",
        ),
      });
      hooks().answers();
      await post(fresh());
      await stage().admin.post(path(), { metadata: { name: fresh() } });
      expect(asked()).toEqual(["hook"]);

      const failing = { name: "hook", matchConditions: conditions("object.nope.x == 1", "true") };
      await hooks().configure("validating", "q", failing);
      const name = fresh();
      const reply = await post(name);
      expect(refusal(reply)).toEqual(refused(403, "Forbidden"));
      expect(reply.body.message).toBe(
        `configmaps "${name}" is forbidden: expression 'object.nope.x == 1' resulted in error: no such key: nope`,
      );
      await hooks().configure("validating", "q", { ...failing, failurePolicy: "Ignore" });
      hooks().answers();
      expect((await post(name)).code).toBe(201);
      expect(asked()).toEqual([]);
    });

    it("admission-webhooks.exempt: is nobody when webhooks themselves are configured", async () => {
      await hooks().configure("validating", "q", {
        name: "hook",
        namespaceSelector: {},
        rules: [
          { operations: ["*"], apiGroups: ["admissionregistration.k8s.io"], apiVersions: ["*"], resources: ["*/*"] },
        ],
      });
      hooks().answers({ hook: (review) => denied(review) });
      await hooks().clear();
      expect(asked()).toEqual([]);
    });
  });
}
