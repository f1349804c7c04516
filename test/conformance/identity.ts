/** Who somebody is, and what they may do. */
import { beforeAll, describe, expect, it } from "vitest";
import { createCertificateRequest, generateKeyPair, parseCertificate } from "#lib/pki";
import { eventually } from "../support/eventually.ts";
import type { Body } from "../support/raw.ts";
import { at, inGroup, refusal, refused, type Staged } from "./stage.ts";

const RBAC = "rbac.authorization.k8s.io";
const REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const REVIEWS = "/apis/authorization.k8s.io/v1";
const TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";
const WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const SIGNER = "kubernetes.io/kube-apiserver-client";

export function identitySuite(stage: Staged): void {
  let space: string;
  beforeAll(async () => {
    space = await stage().namespace();
    await stage().user("alice", ["devs"]);
  });
  const alice = () => stage().user("alice");
  const whoami = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const userIn = ({ body }: { body: Body }) =>
    (body.status as { userInfo: { username: string; groups: string[]; extra?: object } }).userInfo;
  const role = (name: string, rules: object[]) =>
    stage().admin.post(inGroup(RBAC, "v1", "roles", space), { metadata: { name }, rules });
  const bind = (name: string, kind: string, roleName: string, subjects: object[]) =>
    stage().admin.post(inGroup(RBAC, "v1", "rolebindings", space), {
      metadata: { name },
      roleRef: { apiGroup: RBAC, kind, name: roleName },
      subjects,
    });
  const user = (name: string) => ({ apiGroup: RBAC, kind: "User", name });

  describe("certificates", () => {
    const asked = (name: string, more: object = {}, organizations: string[] = []) => ({
      metadata: { name: `${space}-${name}` },
      spec: {
        request: Buffer.from(
          createCertificateRequest({
            subject: { commonName: "carol", organizations },
            key: generateKeyPair().privateKey,
          }),
        ).toString("base64"),
        signerName: SIGNER,
        usages: ["digital signature", "key encipherment", "client auth"],
        ...more,
      },
    });
    const approved = (body: Body, type = "Approved") => ({
      ...body,
      status: { conditions: [{ type, status: "True", reason: "Test", message: "because" }] },
    });

    it("signing.approve: are asked for, approved and signed", async () => {
      const { admin } = stage();
      const made = await admin.post(
        REQUESTS,
        asked("good", { expirationSeconds: 600, username: "forged", groups: ["forged"] }),
      );
      expect(made.code).toBe(201);
      expect(made.body.spec).toMatchObject({
        groups: expect.arrayContaining(["system:masters", "system:authenticated"]),
      });
      expect(made.body.spec).not.toMatchObject({ username: "forged" });
      const path = `${REQUESTS}/${made.body.metadata.name}`;
      const sly = await admin.put(path, approved(made.body));
      expect(sly.body.status).toEqual({});

      expect((await admin.put(`${path}/approval`, approved(made.body))).code).toBe(200);
      const signed = await eventually(async () => {
        const { certificate } = (await admin.get(path)).body.status as { certificate?: string };
        expect(certificate).toBeTruthy();
        return parseCertificate(Buffer.from(certificate ?? "", "base64").toString("utf8"));
      });
      expect(signed.subject.commonName).toBe("carol");
      const seconds = (signed.notAfter.getTime() - signed.notBefore.getTime()) / 1000;
      expect(seconds).toBeGreaterThanOrEqual(600);
      expect(seconds).toBeLessThanOrEqual(600 + 300 + 5);

      const { body } = await admin.get(path);
      const conditions = (body.status as { conditions: object[] }).conditions;
      const both = [...conditions, { type: "Denied", status: "True", reason: "x" }];
      expect(
        (await admin.put(`${path}/approval`, { ...body, status: { ...(body.status as object), conditions: both } }))
          .code,
      ).toBe(422);
      expect((await admin.put(`${path}/approval`, { ...body, status: { conditions: [] } })).code).toBe(422);
    });

    it("signing.usages: fail when the signer does not give such usages", async () => {
      const { admin } = stage();
      const made = await admin.post(REQUESTS, asked("unfit", { usages: ["server auth"] }));
      const path = `${REQUESTS}/${made.body.metadata.name}`;
      await admin.put(`${path}/approval`, approved(made.body));
      await eventually(async () => {
        expect((await admin.get(path)).body.status).toMatchObject({
          conditions: expect.arrayContaining([
            expect.objectContaining({ type: "Failed", reason: "SignerValidationFailure" }),
          ]),
        });
      });
    });

    it.each([
      ["no request", { request: "YWJj" }, refused(422, "Invalid", "spec.request FieldValueInvalid")],
      [
        "a signer without a domain",
        { signerName: "bad" },
        refused(422, "Invalid", "spec.signerName FieldValueInvalid"),
      ],
      ["no usages", { usages: [] }, refused(422, "Invalid", "spec.usages FieldValueRequired")],
      ["an unknown usage", { usages: ["flying"] }, refused(422, "Invalid", "spec.usages[0] FieldValueNotSupported")],
      [
        "too short a life",
        { expirationSeconds: 1 },
        refused(422, "Invalid", "spec.expirationSeconds FieldValueInvalid"),
      ],
    ])("signing.refusals: are refused with %s", async (_, more, expected) => {
      expect(refusal(await stage().admin.post(REQUESTS, asked("bad", more)))).toEqual(expected);
    });

    it("signing.administrators: are not given to administrators", async () => {
      const reply = await stage().admin.post(REQUESTS, asked("masters", {}, ["system:masters"]));
      expect(refusal(reply)).toEqual(refused(403, "Forbidden"));
    });

    it("signing.approve-rights: need the right to approve for the signer", async () => {
      const { admin } = stage();
      await admin.post(inGroup(RBAC, "v1", "clusterroles"), {
        metadata: { name: `${space}-approval` },
        rules: [
          { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests/approval"], verbs: ["update"] },
        ],
      });
      await admin.post(inGroup(RBAC, "v1", "clusterrolebindings"), {
        metadata: { name: `${space}-approval` },
        roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: `${space}-approval` },
        subjects: [user("alice")],
      });
      const made = await admin.post(REQUESTS, asked("signer"));
      await eventually(async () => {
        const reply = await (await alice()).put(`${REQUESTS}/${made.body.metadata.name}/approval`, approved(made.body));
        expect(refusal(reply)).toEqual(refused(403, "Forbidden"));
        expect(reply.body.message).toContain(`user not permitted to approve requests with signerName "${SIGNER}"`);
      });
    });
  });

  describe("tokens of service accounts", () => {
    const account = () => at(space, "serviceaccounts", "robot");
    beforeAll(async () => {
      await stage().admin.post(at(space, "serviceaccounts"), { metadata: { name: "robot" } });
    });
    const tokenFor = async (spec: object = {}) => {
      const { code, body } = await stage().admin.post(`${account()}/token`, { spec });
      expect(code).toBe(201);
      return { body, token: (body.status as { token: string }).token };
    };

    it("authentication.token-request: are issued for a time and an audience, and tell who they are for", async () => {
      const { body, token } = await tokenFor();
      expect(body).toMatchObject({
        kind: "TokenRequest",
        metadata: { name: "robot", namespace: space },
        spec: { expirationSeconds: 3600 },
      });
      const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
      expect(claims).toMatchObject({
        sub: `system:serviceaccount:${space}:robot`,
        aud: (body.spec as { audiences: string[] }).audiences,
        "kubernetes.io": { namespace: space, serviceaccount: { name: "robot" } },
      });
      const me = await stage().admin.as({ token }).post(WHO_AM_I, whoami);
      expect(userIn(me)).toMatchObject({
        username: `system:serviceaccount:${space}:robot`,
        groups: ["system:serviceaccounts", `system:serviceaccounts:${space}`, "system:authenticated"],
        extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^JTI=/)] },
      });
    });

    it("authentication.token-refusals: are refused for a moment, for nobody and for what is not there", async () => {
      const short = await stage().admin.post(`${account()}/token`, { spec: { expirationSeconds: 1 } });
      expect(refusal(short)).toEqual(refused(422, "Invalid", "spec.expirationSeconds FieldValueInvalid"));
      expect((await stage().admin.post(`${at(space, "serviceaccounts", "nobody")}/token`, { spec: {} })).code).toBe(
        404,
      );
      const unbound = { boundObjectRef: { kind: "Secret", apiVersion: "v1", name: "nothing" } };
      expect((await stage().admin.post(`${account()}/token`, { spec: unbound })).code).toBe(404);
    });

    it("authentication.token-review: are reviewed", async () => {
      const { token } = await tokenFor();
      const review = async (spec: object) => (await stage().admin.post(TOKEN_REVIEWS, { spec })).body.status;
      expect(await review({ token })).toMatchObject({
        authenticated: true,
        user: { username: `system:serviceaccount:${space}:robot` },
        audiences: [expect.any(String)],
      });
      expect(await review({ token, audiences: ["other"] })).toMatchObject({ error: expect.any(String) });
      expect(await review({ token, audiences: ["other"] })).not.toHaveProperty("authenticated");
      expect(await review({ token: "bogus" })).toMatchObject({ error: expect.any(String) });
      const elsewhere = (await tokenFor({ audiences: ["other"] })).token;
      expect(await review({ token: elsewhere, audiences: ["other"] })).toMatchObject({
        authenticated: true,
        audiences: ["other"],
      });
      expect((await stage().admin.as({ token: elsewhere }).get("/api")).code).toBe(401);
    });

    it("authentication.token-bound: end with what they are bound to", async () => {
      const secrets = at(space, "secrets");
      const { body } = await stage().admin.post(secrets, { metadata: { name: "tie" } });
      const boundObjectRef = { kind: "Secret", apiVersion: "v1", name: "tie", uid: body.metadata.uid };
      const client = stage().admin.as({ token: (await tokenFor({ boundObjectRef })).token });
      expect((await client.post(WHO_AM_I, whoami)).code).toBe(201);
      await stage().admin.delete(`${secrets}/tie`);
      await eventually(async () => expect((await client.post(WHO_AM_I, whoami)).code).toBe(401));
    });

    it("authentication.token-account: end with their account", async () => {
      const { token } = await tokenFor();
      const client = stage().admin.as({ token });
      expect((await client.post(WHO_AM_I, whoami)).code).toBe(201);
      await stage().admin.delete(account());
      await eventually(async () => expect((await client.post(WHO_AM_I, whoami)).code).toBe(401));
    });
  });

  describe("strangers", () => {
    it("authentication.anonymous: are anonymous without credentials, and nobody with bad ones", async () => {
      const anonymous = stage().admin.as({});
      const reply = await anonymous.get("/api/v1/pods");
      expect(refusal(reply)).toEqual(refused(403, "Forbidden"));
      expect(reply.body.message).toBe(
        'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" at the cluster scope',
      );
      for (const token of ["bogus", "a.b.c", "x".repeat(5000)]) {
        expect(refusal(await stage().admin.as({ token }).get("/healthz"))).toEqual(refused(401, "Unauthorized"));
      }
      const basic = await anonymous.get("/api/v1/pods", { headers: { Authorization: "Basic YTpi" } });
      expect(basic.code).toBe(403);
    });

    it("authentication.other-authority: with a certificate of another authority are nobody", async () => {
      const key = generateKeyPair();
      const { createCertificateAuthority, issueCertificate } = await import("#lib/pki");
      const now = new Date();
      const ca = createCertificateAuthority({ commonName: "other", now, years: 1 });
      const cert = issueCertificate({
        ca,
        subject: { commonName: "admin", organizations: ["system:masters"] },
        publicKey: key.publicKey,
        usages: ["client auth"],
        notBefore: new Date(now.getTime() - 60_000),
        notAfter: new Date(now.getTime() + 3_600_000),
      });
      const { code } = await stage().admin.as({ cert, key: key.privateKey }).get("/api/v1/pods");
      expect(code).toBe(401);
    });
  });

  describe("rights", () => {
    it.each([
      [
        "GET",
        "pods",
        'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "SPACE"',
      ],
      [
        "GET",
        "pods/x",
        'pods "x" is forbidden: User "alice" cannot get resource "pods" in API group "" in the namespace "SPACE"',
      ],
      [
        "POST",
        "pods/x/exec",
        'pods "x" is forbidden: User "alice" cannot create resource "pods/exec" in API group "" in the namespace "SPACE"',
      ],
      [
        "DELETE",
        "pods",
        'pods is forbidden: User "alice" cannot deletecollection resource "pods" in API group "" in the namespace "SPACE"',
      ],
      [
        "GET",
        "pods?watch=true",
        'pods is forbidden: User "alice" cannot watch resource "pods" in API group "" in the namespace "SPACE"',
      ],
    ])("authorization.forbidden: %s %s says who may not do what, and where", async (method, what, message) => {
      const reply = await (await alice()).request(method, `${at(space, what)}`);
      expect(refusal(reply)).toEqual(refused(403, "Forbidden"));
      expect(reply.body.message).toBe(message.replace("SPACE", space));
      expect(reply.headers["x-content-type-options"]).toBe("nosniff");
    });

    it("authorization.groups-and-paths: of groups and paths", async () => {
      const deployments = await (await alice()).get("/apis/apps/v1/deployments");
      expect(deployments.body.message).toBe(
        'deployments.apps is forbidden: User "alice" cannot list resource "deployments" in API group "apps" at the cluster scope',
      );
      const page = await (await alice()).get("/metrics");
      expect(page.body.message).toBe('forbidden: User "alice" cannot get path "/metrics"');
      expect((await (await alice()).get("/api")).code).toBe(200);
    });

    it("authorization.roles: come from roles and bindings, of a namespace and of names in it", async () => {
      await role("reader", [
        { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"], resourceNames: ["mine"] },
        { apiGroups: [""], resources: ["secrets"], verbs: ["list"] },
      ]);
      await bind("reader", "Role", "reader", [user("alice")]);
      const as = await alice();
      await eventually(async () => expect((await as.get(at(space, "secrets"))).code).toBe(200));
      expect((await as.get(at("default", "secrets"))).code).toBe(403);
      expect((await as.get(at(space, "secrets", "x"))).code).toBe(403);
      expect((await as.get(at(space, "configmaps", "mine"))).code).toBe(404);
      expect((await as.get(at(space, "configmaps", "other"))).code).toBe(403);
      expect((await as.get(at(space, "configmaps"))).code).toBe(403);
      expect((await as.get(`${at(space, "configmaps")}?fieldSelector=metadata.name%3Dmine`)).code).toBe(200);
    });

    it("authorization.reviews: are reviewed for oneself and for others", async () => {
      const attributes = { resource: "secrets", verb: "list", namespace: space };
      const mine = await (await alice()).post(`${REVIEWS}/selfsubjectaccessreviews`, {
        spec: { resourceAttributes: attributes },
      });
      expect([mine.code, mine.body.status]).toMatchObject([201, { allowed: true }]);
      const not = await (await alice()).post(`${REVIEWS}/selfsubjectaccessreviews`, {
        spec: { resourceAttributes: { ...attributes, verb: "delete" } },
      });
      expect(not.body.status).toMatchObject({ allowed: false });
      const theirs = await stage().admin.post(`${REVIEWS}/subjectaccessreviews`, {
        spec: { user: "alice", resourceAttributes: attributes },
      });
      expect(theirs.body.status).toMatchObject({ allowed: true });
      const local = await stage().admin.post(`${REVIEWS}/namespaces/${space}/localsubjectaccessreviews`, {
        metadata: { namespace: space },
        spec: { user: "bob", resourceAttributes: attributes },
      });
      expect(local.body.status).toMatchObject({ allowed: false });
      const path = await stage().admin.post(`${REVIEWS}/subjectaccessreviews`, {
        spec: { user: "bob", groups: ["system:masters"], nonResourceAttributes: { path: "/x", verb: "get" } },
      });
      expect(path.body.status).toMatchObject({ allowed: true });
      const rules = await (await alice()).post(`${REVIEWS}/selfsubjectrulesreviews`, { spec: { namespace: space } });
      expect(rules.body.status).toMatchObject({
        incomplete: false,
        resourceRules: expect.arrayContaining([{ verbs: ["list"], apiGroups: [""], resources: ["secrets"] }]),
      });
    });

    it.each([
      ["subjectaccessreviews", { user: "x" }, "spec.resourceAttributes FieldValueInvalid"],
      ["subjectaccessreviews", { resourceAttributes: { verb: "get" } }, "spec.user FieldValueInvalid"],
    ])("authorization.review-refusals: %s refuses %j", async (kind, spec, cause) => {
      expect(refusal(await stage().admin.post(`${REVIEWS}/${kind}`, { spec }))).toEqual(refused(422, "Invalid", cause));
    });

    it("authorization.escalation: cannot be given by who does not have them", async () => {
      await role("author", [
        { apiGroups: [RBAC], resources: ["roles", "rolebindings"], verbs: ["create", "update", "patch"] },
      ]);
      await bind("author", "Role", "author", [user("dave")]);
      const dave = await stage().user("dave");
      const roles = inGroup(RBAC, "v1", "roles", space);
      const bindings = inGroup(RBAC, "v1", "rolebindings", space);
      const greedy = {
        metadata: { name: "greedy" },
        rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }],
      };
      await eventually(async () => {
        const reply = await dave.post(roles, greedy);
        expect(refusal(reply)).toEqual(refused(403, "Forbidden"));
        expect(reply.body.message).toContain("is attempting to grant RBAC permissions not currently held");
        expect(reply.body.message).toContain('{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}');
      });
      const modest = {
        metadata: { name: "modest" },
        rules: [{ apiGroups: [RBAC], resources: ["roles"], verbs: ["create"] }],
      };
      expect((await dave.post(roles, modest)).code).toBe(201);
      const bindTo = (kind: string, name: string) => ({
        metadata: { name: `to-${name}` },
        roleRef: { apiGroup: RBAC, kind, name },
        subjects: [user("dave")],
      });
      expect(refusal(await dave.post(bindings, bindTo("ClusterRole", "cluster-admin")))).toEqual(
        refused(403, "Forbidden"),
      );
      expect((await dave.post(bindings, bindTo("Role", "nothing"))).code).toBe(404);
      expect((await dave.post(bindings, bindTo("Role", "modest"))).code).toBe(201);
    });

    it("authorization.role-ref: stay with their role: a binding cannot be turned to another one", async () => {
      const binding = inGroup(RBAC, "v1", "rolebindings", space, "fixed");
      await bind("fixed", "ClusterRole", "view", [user("erin")]);
      const reply = await stage().admin.patch(binding, { roleRef: { name: "edit" } });
      expect(refusal(reply)).toEqual(refused(422, "Invalid", "roleRef FieldValueInvalid"));
    });

    it("authorization.role-refusals: are checked for roles that make no sense", async () => {
      const bad = await role("bad", [{ apiGroups: [""], resources: ["pods"], verbs: [] }]);
      expect(refusal(bad)).toEqual(refused(422, "Invalid", "rules[0].verbs FieldValueRequired"));
      const pages = await role("pages", [{ nonResourceURLs: ["/x"], verbs: ["get"] }]);
      expect(refusal(pages)).toEqual(refused(422, "Invalid", "rules[0].nonResourceURLs FieldValueInvalid"));
    });

    it("authorization.default-roles: of the default roles are there from the start", async () => {
      for (const name of [
        "cluster-admin",
        "admin",
        "edit",
        "view",
        "system:discovery",
        "system:basic-user",
        "system:auth-delegator",
      ]) {
        const { code, body } = await stage().admin.get(
          inGroup(RBAC, "v1", "clusterroles", undefined, encodeURIComponent(name)),
        );
        expect([name, code]).toEqual([name, 200]);
        expect(body.metadata.labels).toMatchObject({ "kubernetes.io/bootstrapping": "rbac-defaults" });
      }
    });
  });

  describe("acting as somebody else", () => {
    it("impersonation.headers: is told in headers, and replaces who asks", async () => {
      const reply = await stage().admin.post(WHO_AM_I, whoami, {
        headers: { "Impersonate-User": "bob", "Impersonate-Group": ["g1", "g2"], "Impersonate-Extra-scopes%2fx": "v" },
      });
      expect(userIn(reply)).toMatchObject({
        username: "bob",
        groups: ["g1", "g2", "system:authenticated"],
        extra: { "scopes/x": ["v"] },
      });
      const robot = await stage().admin.post(WHO_AM_I, whoami, {
        headers: { "Impersonate-User": "system:serviceaccount:ns1:sa1" },
      });
      expect(userIn(robot).groups).toEqual([
        "system:serviceaccounts",
        "system:serviceaccounts:ns1",
        "system:authenticated",
      ]);
      const pods = await stage().admin.get(at(space, "pods"), { headers: { "Impersonate-User": "bob" } });
      expect(pods.body.message).toContain('User "bob" cannot list resource "pods"');
    });

    it("impersonation.rights: needs a user, and the right to it", async () => {
      const groups = await stage().admin.get(at(space, "pods"), { headers: { "Impersonate-Group": "g1" } });
      expect(groups.code).toBeGreaterThanOrEqual(400);
      const reply = await (await alice()).get(at(space, "pods"), { headers: { "Impersonate-User": "bob" } });
      expect(refusal(reply)).toEqual(refused(403, "Forbidden"));
      expect(reply.body.message).toContain("cannot impersonate");
    });
  });
}
