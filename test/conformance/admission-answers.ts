/** Admission webhooks: what they may change, and what becomes of their answers. */
import { readFile } from "node:fs/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type Answerer, allowed, denied, patching } from "../support/webhook-server.ts";
import { refusal, refused, type Staged } from "./stage.ts";
import { askedAbout, core, type HookWish, webhookStage } from "./webhook-stage.ts";

/** Adds a key unless it is there. */
const adding =
  (key: string): Answerer =>
  (review) => {
    const data = review.request.object?.data as Record<string, string> | undefined;
    return allowed(review, data?.[key] ? {} : patching({ op: "add", path: `/data/${key}`, value: "added" }));
  };
const IF_NEEDED: Partial<HookWish> = { reinvocationPolicy: "IfNeeded" };
/** An answer of few words. */
const saying =
  (code: number, text: string): Answerer =>
  (_review, _call, response) => {
    response.statusCode = code;
    response.end(text);
    return undefined;
  };

export function admissionAnswersSuite(stage: Staged): void {
  const hooks = webhookStage(stage);
  const { fresh, path, post, asked } = askedAbout(stage, hooks);

  beforeEach(async () => {
    hooks().answers();
    await hooks().clear();
  });

  describe("a change", () => {
    it("admission-webhooks.mutation: gets defaults and is judged as if the client had sent it", async () => {
      await hooks().configure("mutating", "q", { name: "hook" });
      hooks().answers({
        hook: (review) =>
          allowed(
            review,
            patching({ op: "add", path: "/data/b", value: "2" }, { op: "add", path: "/unknown", value: 1 }),
          ),
      });
      const { body } = await post(fresh());
      expect(body.data).toEqual({ a: "1", b: "2" });
      expect(body).not.toHaveProperty("unknown");
      // What webhooks add is nobody's.
      expect(JSON.stringify(body.metadata.managedFields)).not.toContain("f:b");

      hooks().answers({
        hook: (review) => allowed(review, patching({ op: "add", path: "/metadata/labels", value: { "a b": "c" } })),
      });
      expect(refusal(await post(fresh()))).toEqual(refused(422, "Invalid", "metadata.labels FieldValueInvalid"));
    });

    it.each<[string, [string, Answerer, Partial<HookWish>][], string[]]>([
      [
        "in the order of their configurations",
        [
          ["b", adding("b"), {}],
          ["a", adding("a"), {}],
        ],
        ["a", "b"],
      ],
      [
        "again when a later one changed something",
        [
          ["a", adding("a"), IF_NEEDED],
          ["b", adding("b"), {}],
        ],
        ["a", "b", "a"],
      ],
      [
        "not again when none did",
        [
          ["a", adding("a"), IF_NEEDED],
          ["b", (r) => allowed(r), {}],
        ],
        ["a", "b"],
      ],
      [
        "each once more",
        [
          ["a", adding("a"), IF_NEEDED],
          ["b", adding("b"), IF_NEEDED],
        ],
        ["a", "b", "a"],
      ],
    ])("admission-webhooks.order: is made %s", async (_, wishes, expected) => {
      for (const [name, , more] of wishes) await hooks().configure("mutating", name, { name, ...more });
      hooks().answers(Object.fromEntries(wishes.map(([name, answer]) => [name, answer])));
      await post(fresh());
      expect(asked()).toEqual(expected);
    });

    it.each([
      ["name", "other", 422, "field is immutable"],
      ["uid", "other", 422, "field is immutable"],
      ["namespace", "other", 400, "does not match the namespace sent on the request"],
      ["resourceVersion", "1", 409, "the object has been modified"],
    ])("admission-webhooks.immutable: is refused in metadata.%s", async (field, value, code, message) => {
      const name = fresh();
      await post(name);
      await hooks().configure("mutating", "q", { name: "hook", rules: core(["configmaps"], ["UPDATE"]) });
      hooks().answers({
        hook: (review) => allowed(review, patching({ op: "replace", path: `/metadata/${field}`, value })),
      });
      const reply = await stage().admin.patch(path(name), { data: { b: "1" } });
      expect(reply.code).toBe(code);
      expect(reply.body.message).toContain(message);
    });

    it("admission-webhooks.no-lost-update: loses nothing that somebody else changed meanwhile", async () => {
      const name = fresh();
      await post(name, {});
      await hooks().configure("mutating", "q", { name: "hook", rules: core(["configmaps"], ["UPDATE"]) });
      let isFirst = true;
      hooks().answers({
        hook: async (review) => {
          const data = review.request.object?.data as Record<string, string> | undefined;
          if (data?.mine && isFirst) {
            isFirst = false;
            await stage().admin.patch(path(name), { data: { other: "1" } });
          }
          return allowed(review);
        },
      });
      const { body } = await stage().admin.patch(path(name), { data: { mine: "1" } });
      expect(body.data).toEqual({ mine: "1", other: "1" });
    });
  });

  describe("an answer", () => {
    it.each<[string, object | undefined, number, string | undefined, string]>([
      ["no explanation", undefined, 400, undefined, " without explanation"],
      ["a message", { message: "no way" }, 400, undefined, ": no way"],
      ["a reason", { reason: "Forbidden" }, 400, "Forbidden", ": Forbidden"],
      ["a code", { code: 403, reason: "Forbidden", message: "m" }, 403, "Forbidden", ": m"],
      ["a code of success", { code: 200, status: "Success", message: "m" }, 400, undefined, ": m"],
    ])("admission-webhooks.denial: denies with %s", async (_, status, code, reason, text) => {
      for (const role of ["mutating", "validating"] as const) {
        await hooks().configure(role, "q", { name: "hook" });
        hooks().answers({ hook: (review) => denied(review, status) });
        const reply = await post(fresh());
        expect(refusal(reply)).toEqual(refused(code, reason));
        expect(reply.body).toMatchObject({
          status: "Failure",
          message: `admission webhook "hook.example.com" denied the request${text}`,
        });
      }
    });

    it("admission-webhooks.delete-denied: keeps what somebody wanted to delete", async () => {
      const name = fresh();
      await post(name);
      await hooks().configure("validating", "q", { name: "hook", rules: core(["configmaps"], ["DELETE"]) });
      hooks().answers({ hook: (review) => denied(review, { code: 403, reason: "Forbidden" }) });
      expect((await stage().admin.delete(path(name))).code).toBe(403);
      expect((await stage().admin.get(path(name))).code).toBe(200);
    });

    it("admission-webhooks.remarks: warns the client and leaves a remark in the audit log", async () => {
      await hooks().configure("mutating", "q", { name: "hook" });
      hooks().answers({
        hook: (review) => allowed(review, { warnings: ["careful"], auditAnnotations: { why: "because" } }),
      });
      const { headers } = await post(fresh());
      expect(headers.warning).toBe('299 - "careful"');
      await eventually(async () => {
        const events = (await readFile(stage().server.auditLog, "utf8")).trim().split("\n");
        const remarks = events.map(
          (line) => (JSON.parse(line) as { annotations?: Record<string, string> }).annotations,
        );
        expect(remarks).toContainEqual(
          expect.objectContaining({
            "hook.example.com/why": "because",
            "mutation.webhook.admission.k8s.io/round_0_index_1": expect.stringContaining('"mutated":false'),
          }),
        );
      });
    });

    it.each<[string, Partial<HookWish>, Answerer, string]>([
      [
        "another uid",
        {},
        (review) => allowed(review, { uid: "x" }),
        "received invalid webhook response: expected response.uid=",
      ],
      [
        "no response",
        {},
        () => ({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" }),
        "received invalid webhook response: webhook response was absent",
      ],
      ["an empty object", {}, () => ({}), "received invalid webhook response: webhook response was absent"],
      [
        "no name",
        {},
        (review) => ({ response: allowed(review).response }),
        "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
      ],
      [
        "another version",
        {},
        (review) => ({ ...allowed(review), apiVersion: "admission.k8s.io/v1beta1" }),
        "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
      ],
      [
        "another kind",
        {},
        () => ({ apiVersion: "v1", kind: "Pod" }),
        'failed to call webhook: no kind "Pod" is registered for version "v1"',
      ],
      ["nonsense", {}, () => "nonsense", "failed to call webhook: couldn't get version/kind; json parse error: "],
      [
        "nothing",
        {},
        () => "",
        "failed to call webhook: 0-length response with status code: 200 and content type: application/json",
      ],
      [
        "not found",
        {},
        saying(404, "where"),
        "failed to call webhook: the server could not find the requested resource",
      ],
      [
        "an error",
        {},
        saying(500, "boom"),
        'failed to call webhook: an error on the server ("boom") has prevented the request from succeeding',
      ],
      [
        "unavailability",
        {},
        saying(503, "later"),
        "failed to call webhook: the server is currently unable to handle the request",
      ],
      [
        "silence",
        { timeoutSeconds: 1 },
        () => undefined,
        'failed to call webhook: Post "URL/hook?timeout=1s": context deadline exceeded',
      ],
      [
        "a hang-up",
        {},
        (_review, _call, response) => void response.socket?.destroy(),
        'failed to call webhook: Post "URL/hook?timeout=10s": EOF',
      ],
      [
        "a patch without a type",
        {},
        (review) => allowed(review, { patch: "W10=" }),
        "received invalid webhook response: webhook returned response.patch but not response.patchType",
      ],
      [
        "a patch that is none",
        {},
        (review) => allowed(review, { patchType: "JSONPatch", patch: Buffer.from("{").toString("base64") }),
        "received undecodable patch in webhook response: ",
      ],
    ])(
      "admission-webhooks.call-failures: that is %s ends the request, or is left out",
      async (_, more, answer, message) => {
        await hooks().configure("mutating", "q", { name: "hook", ...more });
        hooks().answers({ hook: answer });
        const reply = await post(fresh());
        expect(refusal(reply)).toMatchObject({ code: 500, reason: "InternalError" });
        expect(reply.body.message?.replace(hooks().server.url, "URL")).toContain(
          `Internal error occurred: failed calling webhook "hook.example.com": ${message}`,
        );
        await hooks().configure("mutating", "q", { name: "hook", ...more, failurePolicy: "Ignore" });
        hooks().answers({ hook: answer });
        expect((await post(fresh())).code).toBe(201);
      },
    );

    it.each<[string, (url: string, caBundle: string) => HookWish["clientConfig"], string]>([
      [
        "nobody",
        (_, caBundle) => ({ url: "https://127.0.0.1:1/p", caBundle }),
        'Post "https://127.0.0.1:1/p?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused',
      ],
      [
        "a stranger",
        (url) => ({ url: `${url}/p` }),
        "tls: failed to verify certificate: x509: certificate signed by unknown authority",
      ],
      [
        "no Service",
        (_, caBundle) => ({ service: { name: "none", namespace: "default", path: "/p" }, caBundle }),
        'Post "https://none.default.svc:443/p?timeout=10s": service "none" not found',
      ],
    ])("admission-webhooks.unreachable: from %s ends the request", async (_, config, message) => {
      const clientConfig = config(hooks().server.url, hooks().server.caBundle);
      await hooks().configure("validating", "q", { name: "hook", ...(clientConfig && { clientConfig }) });
      const reply = await post(fresh());
      expect(reply.code).toBe(500);
      expect(reply.body.message).toContain('failed calling webhook "hook.example.com": failed to call webhook: Post "');
      expect(reply.body.message).toContain(message);
    });

    it("admission-webhooks.patch-of-nothing: is refused when there is no object to change", async () => {
      const name = fresh();
      await post(name);
      await hooks().configure("mutating", "q", { name: "hook", rules: core(["configmaps"], ["DELETE"]) });
      hooks().answers({ hook: (review) => allowed(review, patching({ op: "add", path: "/data", value: {} })) });
      const reply = await stage().admin.delete(path(name));
      expect(reply.code).toBe(500);
      expect(reply.body.message).toBe(
        'Internal error occurred: admission webhook "hook.example.com" attempted to modify the object, which is not supported for this operation',
      );
    });
  });
}
