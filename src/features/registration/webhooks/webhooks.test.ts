import { describe, expect, it } from "vitest";
import type { AdmissionRequest } from "#api/admission";
import { SubjectAccessReview } from "#api/authorization";
import { Namespace } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { WebhookPath } from "#api/operator";
import { ManualClock } from "#lib/clock";
import type { Ruling } from "#runtime";
import { fakeCluster } from "../../../../test/support/index.ts";
import { registrationWebhooks } from "./index.ts";

const SET = "cluster.open-cluster-management.io/clusterset";
const CLUSTERS = "cluster.open-cluster-management.io";
const REGISTER = "register.open-cluster-management.io";

interface Wish {
  readonly object: Partial<DynamicObject> & { metadata: object };
  readonly old?: Partial<DynamicObject> & { metadata: object };
  /** `resource/subresource verb name` of what the user may do; all unless told. */
  readonly may?: readonly string[];
  readonly terminating?: string;
}

/** The ruling, and what the server was asked for it. */
async function ruled(
  path: string,
  { object, old, may, terminating }: Wish,
): Promise<{ ruling: Ruling; asked: string[] }> {
  const gone = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["kubernetes"] };
  const { client } = fakeCluster(
    [Namespace, ...(terminating ? [{ metadata: { name: terminating, ...gone } }] : [])],
    [SubjectAccessReview],
  );
  const asked: string[] = [];
  const create = (async (_: unknown, review: SubjectAccessReview) => {
    const { group, resource, subresource, verb, name } = review.spec.resourceAttributes ?? {};
    expect(review.spec).toMatchObject({ user: "alice", uid: "u", groups: ["g"], extra: { scope: ["s"] } });
    const question = `${resource}/${subresource}.${group} ${verb} ${name}`;
    asked.push(question);
    return { ...review, status: { allowed: may?.includes(question) ?? true } };
  }) as unknown as typeof client.create;
  const handlers = registrationWebhooks({
    client: { get: client.get, create },
    defaultSet: true,
    clock: new ManualClock(),
  });
  const request = {
    uid: "1",
    operation: old ? "UPDATE" : "CREATE",
    name: (object.metadata as { name?: string }).name,
    userInfo: { username: "alice", uid: "u", groups: ["g"], extra: { scope: ["s"] } },
    object,
    oldObject: old ?? null,
  } as unknown as AdmissionRequest;
  const ruling = await handlers[path]?.(request, new AbortController().signal);
  if (!ruling) throw new Error(`nobody answers at ${path}`);
  return { ruling, asked };
}

const named = (name: string, spec: object = {}, metadata: object = {}) => ({ metadata: { name, ...metadata }, spec });
const inSet = (set: string, spec: object = {}) => named("c1", spec, { labels: { [SET]: set } });

describe("a ManagedCluster", () => {
  const validate = (wish: Wish) => ruled(WebhookPath.validateCluster, wish);
  const urls = (...all: string[]) => ({ managedClusterClientConfigs: all.map((url) => ({ url })) });

  it.each([
    ["c.d", "a namespace could not"],
    ["C1", "a namespace could not"],
    ["a".repeat(64), "a namespace could not"],
    ["registration", "share the rights of others"],
    ["work", "share the rights of others"],
    ["managed-clusters", "share the rights of others"],
  ])("cannot be called %s", async (name, words) => {
    const { ruling } = await validate({ object: named(name) });
    expect(ruling).toMatchObject({ allowed: false, code: 400, message: expect.stringContaining(words) });
  });

  it("with such a name from before may still be changed, because otherwise it could never go", async () => {
    const { ruling } = await validate({ object: named("c.d", {}, { finalizers: [] }), old: named("c.d") });
    expect(ruling).toEqual({ allowed: true });
  });

  it.each([["http://a"], ["a"], [""], ["ftp://x"], ["https://"]])("is not reached at %j", async (url) => {
    const { ruling } = await validate({ object: named("c1", urls("https://good:6443", url)) });
    expect(ruling).toMatchObject({ allowed: false, code: 400, reason: "BadRequest" });
    expect(ruling).toMatchObject({ message: expect.stringContaining(`url ${JSON.stringify(url)} of`) });
  });

  it("names all URLs that are wrong, and on an update only those that are new", async () => {
    const wrong = urls("http://a", "http://b");
    expect((await validate({ object: named("c1", wrong) })).ruling).toMatchObject({
      message: expect.stringContaining('"http://a", "http://b"'),
    });
    expect((await validate({ object: named("c1", wrong), old: named("c1") })).ruling).toMatchObject({ code: 400 });
    expect((await validate({ object: named("c1", wrong), old: named("c1", wrong) })).ruling).toEqual({ allowed: true });
  });

  const ACCEPT = `managedclusters/accept.${REGISTER} update c1`;
  const accepted = { hubAcceptsClient: true };

  it.each([
    ["created", undefined],
    ["changed", named("c1", { hubAcceptsClient: false })],
  ])("is let in only by who may accept it: %s", async (_, old) => {
    const wish = { object: named("c1", accepted), ...(old && { old }) };
    const refused = await validate({ ...wish, may: [] });
    expect(refused.asked).toEqual([ACCEPT]);
    expect(refused.ruling).toMatchObject({
      allowed: false,
      code: 403,
      reason: "Forbidden",
      details: { kind: "managedclusters/accept", name: "c1" },
      message: expect.stringContaining('user "alice" cannot update the HubAcceptsClient field'),
    });
    expect((await validate({ ...wish, may: [ACCEPT] })).ruling).toEqual({ allowed: true });
  });

  it("is not let in while its namespace goes, whoever says so", async () => {
    const { ruling } = await validate({ object: named("c1", accepted), terminating: "c1" });
    expect(ruling).toMatchObject({ code: 403, message: expect.stringContaining('namespace "c1" is terminating') });
    const other = await validate({ object: named("c1", accepted), terminating: "c2" });
    expect(other.ruling).toEqual({ allowed: true });
  });

  it.each([
    ["is put out", named("c1", accepted), named("c1", { hubAcceptsClient: false })],
    ["stays in and changes otherwise", named("c1", accepted), named("c1", { ...accepted, leaseDurationSeconds: 5 })],
  ])("asks for no right when it %s", async (_, old, object) => {
    expect(await validate({ old, object, may: [], terminating: "c1" })).toEqual({
      ruling: { allowed: true },
      asked: [],
    });
  });

  const join = (set: string) => `managedclustersets/join.${CLUSTERS} create ${set}`;

  it.each([
    ["into a set", undefined, "a", ["a"]],
    ["from one set into another", "a", "b", ["a", "b"]],
    ["out of a set", "a", "", ["a"]],
    ["nowhere else", "a", "a", []],
  ])("goes %s only by who may, for both", async (_, before, after, sets) => {
    const wish = { object: inSet(after), ...(before !== undefined && { old: inSet(before) }) };
    expect((await validate({ ...wish, may: sets.map(join) })).asked).toEqual(sets.map(join));
    for (const without of sets) {
      const { ruling } = await validate({ ...wish, may: sets.filter((set) => set !== without).map(join) });
      expect(ruling).toMatchObject({
        code: 403,
        details: { kind: "managedclustersets/join", name: without },
        message: expect.stringContaining(`ManagedClusterSet "${without}"`),
      });
    }
  });
});

describe("a ManagedClusterSetBinding", () => {
  const validate = (wish: Wish) => ruled(WebhookPath.validateBinding, wish);
  const BIND = `managedclustersets/bind.${CLUSTERS} create set1`;
  const binding = (clusterSet: string, metadata: object = {}) => named("set1", { clusterSet }, metadata);

  it("is called like its set, when it is created and when it is changed", async () => {
    for (const wish of [{ object: binding("other") }, { object: binding("other"), old: binding("set1") }]) {
      const { ruling } = await validate(wish);
      expect(ruling).toMatchObject({
        code: 400,
        message: "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet",
      });
    }
  });

  it("is created only by who may bind the set, and changed by anybody who may write it", async () => {
    expect((await validate({ object: binding("set1"), may: [] })).ruling).toMatchObject({
      code: 403,
      details: { kind: "managedclustersets/bind", name: "set1" },
      message: expect.stringContaining('user "alice" is not allowed to bind cluster set "set1"'),
    });
    expect(await validate({ object: binding("set1"), may: [BIND] })).toEqual({
      ruling: { allowed: true },
      asked: [BIND],
    });
    const changed = await validate({ object: binding("set1", { labels: { a: "b" } }), old: binding("set1"), may: [] });
    expect(changed).toEqual({ ruling: { allowed: true }, asked: [] });
  });
});
