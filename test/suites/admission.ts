/** What a hub lets in: every rule of its webhooks, asked by the API server itself, on any API server. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding } from "#api/cluster";
import { ConfigMap, Namespace, ServiceAccount } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { ClusterRole, ClusterRoleBinding, type PolicyRule } from "#api/rbac";
import { ManifestWork } from "#api/work";
import { type Client, connectionOf, createClient, isKubeError, isNotFound } from "#kube";
import { accountToken } from "../support/account-token.ts";
import { eventually } from "../support/eventually.ts";
import type { TestServer } from "../support/servers.ts";

const SET_LABEL = "cluster.open-cluster-management.io/clusterset";
const CLUSTERS = "cluster.open-cluster-management.io";
const REGISTER = "register.open-cluster-management.io";
const WORKS = "work.open-cluster-management.io";
const DENIED = (name: string) => `admission webhook ${JSON.stringify(name)} denied the request`;

/** The hub under test; its webhooks answer. */
export type Hub = () => TestServer;

/** What a write is refused with: code, reason and message. */
export async function refusalOf(write: Promise<unknown>): Promise<{ code: number; reason: string; message: string }> {
  const error = await write.then(
    () => new Error("it was not refused"),
    (failure: unknown) => failure,
  );
  if (!isKubeError(error)) throw error;
  const { code = 0, reason = "", message } = error as { code?: number; reason?: string; message: string };
  return { code, reason, message };
}

let made = 0;
const fresh = (what: string) => `${what}-${++made}`;

/** Somebody who may do exactly what the rules say. */
export async function somebody(server: TestServer, rules: PolicyRule[]): Promise<{ client: Client; name: string }> {
  const name = fresh("somebody");
  const { client } = server;
  await client.create(ServiceAccount, { metadata: { name, namespace: "default" } });
  await client.create(ClusterRole, { metadata: { name }, rules });
  await client.create(ClusterRoleBinding, {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
  });
  const { cert: _, key: __, ...connection } = await connectionOf(server.kubeconfig);
  const theirs = createClient({
    connection: { ...connection, token: await accountToken(server, `default/${name}`) },
  });
  return { client: theirs, name: `system:serviceaccount:default:${name}` };
}

const WRITE_CLUSTERS = {
  apiGroups: [CLUSTERS],
  resources: ["managedclusters"],
  verbs: ["get", "create", "update", "patch", "delete"],
};
const rule = (group: string, resource: string, verb: string, ...names: string[]): PolicyRule => ({
  apiGroups: [group],
  resources: [resource],
  verbs: [verb],
  ...(names.length > 0 && { resourceNames: names }),
});
const join = (...sets: string[]) => rule(CLUSTERS, "managedclustersets/join", "create", ...sets);

export function registrationAdmissionCases(hub: Hub): void {
  const client = () => hub().client;
  const clients: Client[] = [];
  afterAll(() => {
    for (const each of clients) each.close();
  });
  const who = async (...rules: PolicyRule[]) => {
    const found = await somebody(hub(), [WRITE_CLUSTERS, ...rules]);
    clients.push(found.client);
    return found;
  };
  const cluster = (name: string, spec: object = {}, metadata: object = {}) => ({
    metadata: { name, ...metadata },
    spec,
  });
  const create = (name: string, spec: object = {}, metadata: object = {}) =>
    client().create(ManagedCluster, cluster(name, spec, metadata));
  const setOf = ({ metadata }: ManagedCluster) => metadata.labels?.[SET_LABEL];

  describe("a ManagedCluster that is created", () => {
    it("has a lease of 60 seconds and belongs to the default set", async () => {
      const { spec, metadata } = await create(fresh("cluster"));
      expect(spec?.leaseDurationSeconds).toBe(60);
      expect(metadata.labels).toEqual({ [SET_LABEL]: "default" });
    });

    it.each([
      ["without labels", undefined],
      ["with other labels", { team: "a" }],
      ["with an empty set", { [SET_LABEL]: "" }],
    ])("belongs to the default set %s", async (_, labels) => {
      const created = await create(fresh("cluster"), {}, labels && { labels });
      expect(created.metadata.labels).toEqual({ ...labels, [SET_LABEL]: "default" });
    });

    it("gets the time of its taints, which nobody can choose", async () => {
      const name = fresh("cluster");
      const before = Math.floor(Date.now() / 1000) * 1000;
      const taints = [
        { key: "a", effect: "NoSelect" },
        { key: "b", effect: "NoSelectIfNew", timeAdded: "2001-01-01T00:00:00Z" },
      ];
      const created = await create(name, { taints });
      const times = (created.spec?.taints ?? []).map(({ timeAdded }) => Date.parse(timeAdded ?? ""));
      for (const time of times) expect(time).toBeGreaterThanOrEqual(before);

      const [first, second] = created.spec?.taints ?? [];
      const patched = (next: unknown[]) =>
        client().patch(ManagedCluster, name, { spec: { taints: next } }, { type: "merge" });
      const changed = await patched([first, { key: "b", effect: "NoSelect" }, { key: "c", effect: "NoSelect" }]);
      expect(changed.spec?.taints?.[0]).toEqual(first);
      for (const { timeAdded } of changed.spec?.taints ?? []) expect(timeAdded).toMatch(/^\d{4}-.*Z$/);
      for (const wrong of [
        [{ ...first, timeAdded: "2001-01-01T00:00:00Z" }],
        [{ ...second, value: "other" }],
        [first, { key: "d", effect: "NoSelect", timeAdded: "2001-01-01T00:00:00Z" }],
      ]) {
        expect(await refusalOf(patched(wrong))).toMatchObject({
          code: 400,
          message: expect.stringContaining("It is not allowed to set TimeAdded of Taint"),
        });
      }
    });

    it("is reached by https only", async () => {
      const name = fresh("cluster");
      const config = (...urls: string[]) => ({ managedClusterClientConfigs: urls.map((url) => ({ url })) });
      const wrong = config("https://good.example:6443", "http://bad.example", "nonsense");
      const refusal = await refusalOf(create(name, wrong));
      expect(refusal).toMatchObject({ code: 400, reason: "BadRequest" });
      expect(refusal.message).toContain(DENIED(`managedclustervalidators.admission.${CLUSTERS}`));
      expect(refusal.message).toContain('"http://bad.example", "nonsense"');
      await create(name, config("https://good.example:6443"));
      const worse = { spec: config("http://bad.example") };
      expect(await refusalOf(client().patch(ManagedCluster, name, worse, { type: "merge" }))).toMatchObject({
        code: 400,
      });
    });

    it.each([
      ["with a name that no namespace could have", "has.a.dot", "a namespace could not"],
      ["called registration", "registration", "share the rights of others"],
      ["called work", "work", "share the rights of others"],
      ["called managed-clusters", "managed-clusters", "share the rights of others"],
    ])("is refused %s, with URLs and without", async (_, name, words) => {
      for (const spec of [{}, { managedClusterClientConfigs: [{ url: "https://good.example" }] }]) {
        expect(await refusalOf(create(name, spec))).toMatchObject({
          code: 400,
          reason: "BadRequest",
          message: expect.stringContaining(words),
        });
      }
    });

    it("asks for nothing in a dry run that it would not ask for otherwise", async () => {
      const probe = client().create(ManagedCluster, cluster("has.a.dot"), { dryRun: true });
      expect(await refusalOf(probe)).toMatchObject({ code: 400 });
    });
  });

  describe("accepting a cluster", () => {
    const ACCEPT = "managedclusters/accept";
    const accepted = { spec: { hubAcceptsClient: true } };

    it("is forbidden without the right, on creation and later", async () => {
      const { client: nobody, name: user } = await who(join());
      const created = await refusalOf(nobody.create(ManagedCluster, cluster(fresh("cluster"), accepted.spec)));
      expect(created).toMatchObject({ code: 403, reason: "Forbidden" });
      expect(created.message).toContain(`user "${user}" cannot update the HubAcceptsClient field`);
      const { metadata } = await nobody.create(ManagedCluster, cluster(fresh("cluster")));
      const later = nobody.patch(ManagedCluster, metadata.name, accepted, { type: "merge" });
      expect(await refusalOf(later)).toMatchObject({ code: 403, reason: "Forbidden" });
      expect((await client().get(ManagedCluster, metadata.name)).spec?.hubAcceptsClient ?? false).toBe(false);
    });

    it("is allowed with the right to that very cluster, and to no other", async () => {
      const [mine, other] = [fresh("cluster"), fresh("cluster")];
      const { client: trusted } = await who(join(), rule(REGISTER, ACCEPT, "update", mine));
      for (const name of [mine, other]) await trusted.create(ManagedCluster, cluster(name));
      const patched = await trusted.patch(ManagedCluster, mine, accepted, { type: "merge" });
      expect(patched.spec?.hubAcceptsClient).toBe(true);
      const refused = trusted.patch(ManagedCluster, other, accepted, { type: "merge" });
      expect(await refusalOf(refused)).toMatchObject({ code: 403 });
    });

    it("of another field of a cluster that is let in asks for nothing, and neither does denying it", async () => {
      const name = fresh("cluster");
      await create(name, accepted.spec);
      const { client: nobody } = await who();
      const changed = await nobody.patch(
        ManagedCluster,
        name,
        { spec: { leaseDurationSeconds: 77 } },
        { type: "merge" },
      );
      expect(changed.spec?.leaseDurationSeconds).toBe(77);
      const denied = await nobody.patch(ManagedCluster, name, { spec: { hubAcceptsClient: false } }, { type: "merge" });
      expect(denied.spec?.hubAcceptsClient).toBe(false);
    });

    it("is forbidden to everybody while the namespace of the cluster goes", async () => {
      const name = fresh("cluster");
      const finalizers = ["example.com/held"];
      await client().create(Namespace, { metadata: { name } });
      await client().create(ConfigMap, { metadata: { name: "held", namespace: name, finalizers } });
      await client().delete(Namespace, name);
      await create(name);
      const refusal = await refusalOf(client().patch(ManagedCluster, name, accepted, { type: "merge" }));
      expect(refusal).toMatchObject({
        code: 403,
        message: expect.stringContaining(`namespace "${name}" is terminating`),
      });
      await client().patch(ConfigMap, `${name}/held`, { metadata: { finalizers: null } }, { type: "merge" });
      await eventually(() => expect(client().get(Namespace, name)).rejects.toSatisfy(isNotFound));
      await client().patch(ManagedCluster, name, accepted, { type: "merge" });
    });
  });

  describe("the set of a cluster", () => {
    const inSet = (set: string) => ({ labels: { [SET_LABEL]: set } });
    let [one, two] = ["", ""];
    beforeAll(async () => {
      [one, two] = [fresh("set"), fresh("set")];
      for (const name of [one, two])
        await client().create(ManagedClusterSet, { metadata: { name } } as ManagedClusterSet);
    });

    it("is joined on creation only by who may", async () => {
      const { client: member, name: user } = await who(join(one));
      const created = await member.create(ManagedCluster, cluster(fresh("cluster"), {}, inSet(one)));
      expect(setOf(created)).toBe(one);
      const refusal = await refusalOf(member.create(ManagedCluster, cluster(fresh("cluster"), {}, inSet(two))));
      expect(refusal).toMatchObject({ code: 403, reason: "Forbidden" });
      expect(refusal.message).toContain(
        `user "${user}" cannot add/remove a ManagedCluster to/from ManagedClusterSet "${two}"`,
      );
      // Without a word about it the cluster would belong to the default set.
      expect(await refusalOf(member.create(ManagedCluster, cluster(fresh("cluster"))))).toMatchObject({ code: 403 });
    });

    it("is changed only by who may, for the one that is left and the one that is entered", async () => {
      const name = fresh("cluster");
      await create(name, {}, inSet(one));
      const move = (by: Client) => by.patch(ManagedCluster, name, { metadata: inSet(two) }, { type: "merge" });
      for (const sets of [[one], [two]]) {
        const { client: half } = await who(join(...sets));
        expect(await refusalOf(move(half))).toMatchObject({ code: 403 });
      }
      const { client: both } = await who(join(one, two));
      expect(setOf(await move(both))).toBe(two);
      const { client: nobody } = await who();
      const touched = await nobody.patch(ManagedCluster, name, { metadata: { labels: { x: "y" } } }, { type: "merge" });
      expect(setOf(touched), "other labels are free").toBe(two);
    });

    it("cannot be taken away: whoever removes the label finds the cluster in the default set", async () => {
      const name = fresh("cluster");
      await create(name, {}, inSet(one));
      for (const set of [null, ""]) {
        const metadata = { labels: { [SET_LABEL]: set } };
        expect(setOf(await client().patch(ManagedCluster, name, { metadata }, { type: "merge" }))).toBe("default");
      }
      const { client: nobody } = await who();
      const removed = nobody.patch(
        ManagedCluster,
        name,
        { metadata: { labels: { [SET_LABEL]: one } } },
        { type: "merge" },
      );
      expect(await refusalOf(removed)).toMatchObject({ code: 403 });
    });
  });

  it("a lease cannot be set to zero", async () => {
    const name = fresh("cluster");
    const created = await create(name, { leaseDurationSeconds: 0 });
    expect(created.spec?.leaseDurationSeconds).toBe(60);
    const patch = (seconds: number | null) =>
      client().patch(ManagedCluster, name, { spec: { leaseDurationSeconds: seconds } }, { type: "merge" });
    expect((await patch(5)).spec?.leaseDurationSeconds).toBe(5);
    for (const nothing of [0, null]) expect((await patch(nothing)).spec?.leaseDurationSeconds).toBe(60);
  });

  describe("a ManagedClusterSetBinding", () => {
    const WRITE = {
      apiGroups: [CLUSTERS],
      resources: ["managedclustersetbindings"],
      verbs: ["get", "create", "patch"],
    };
    const bind = (...sets: string[]) => rule(CLUSTERS, "managedclustersets/bind", "create", ...sets);
    const binding = (name: string, clusterSet: string) => ({
      metadata: { name, namespace: "default" },
      spec: { clusterSet },
    });

    it("is called like its set", async () => {
      const name = fresh("set");
      const refusal = await refusalOf(client().create(ManagedClusterSetBinding, binding(name, "another")));
      expect(refusal).toMatchObject({ code: 400, reason: "BadRequest" });
      expect(refusal.message).toContain(
        "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet",
      );
    });

    it("is created by who may bind the set, and by nobody else", async () => {
      const [mine, other] = [fresh("set"), fresh("set")];
      const { client: trusted, name: user } = await who(WRITE, bind(mine));
      await trusted.create(ManagedClusterSetBinding, binding(mine, mine));
      const refusal = await refusalOf(trusted.create(ManagedClusterSetBinding, binding(other, other)));
      expect(refusal).toMatchObject({ code: 403, reason: "Forbidden" });
      expect(refusal.message).toContain(`user "${user}" is not allowed to bind cluster set "${other}"`);
    });

    it("is changed by whoever may write it, but never leads to another set", async () => {
      const name = fresh("set");
      await client().create(ManagedClusterSetBinding, binding(name, name));
      const { client: nobody } = await who(WRITE);
      const patch = (change: object) =>
        nobody.patch(ManagedClusterSetBinding, `default/${name}`, change, { type: "merge" });
      expect((await patch({ metadata: { labels: { a: "b" } } })).metadata.labels).toEqual({ a: "b" });
      expect(await refusalOf(patch({ spec: { clusterSet: "another" } }))).toMatchObject({ code: 400 });
    });
  });
}

/** `asksAtEveryChange`: upstream's webhook asks about an executor only when it becomes another (ADR 24). */
export function workAdmissionCases(hub: Hub, { asksAtEveryChange }: { readonly asksAtEveryChange: boolean }): void {
  const client = () => hub().client;
  const clients: Client[] = [];
  afterAll(() => {
    for (const each of clients) each.close();
  });
  const manifest = (name: string, more: object = {}): DynamicObject =>
    ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, ...more }) as DynamicObject;
  const work = (manifests: readonly object[], more: object = {}) =>
    ({
      metadata: { name: fresh("work"), namespace: "default" },
      spec: { workload: { manifests }, ...more },
    }) as unknown as ManifestWork;
  const create = (manifests: readonly object[], more: object = {}, by = client()) =>
    by.create(ManifestWork, work(manifests, more));

  it.each([
    ["carries nothing", [], "manifests should not be empty"],
    [
      "carries something nameless",
      [manifest("", { metadata: { namespace: "default" } })],
      "name must be set in manifest",
    ],
    [
      "carries a name to be made up",
      [manifest("", { metadata: { generateName: "a-" } })],
      "name must be set in manifest",
    ],
    [
      "carries the same twice",
      [manifest("a"), manifest("a")],
      "duplicate manifest for resource default/a with resource type v1.ConfigMap",
    ],
    [
      "carries too much",
      Array.from({ length: 6 }, (_, index) => manifest(`m${index}`, { data: { x: "x".repeat(100_000) } })),
      "bytes which exceeds the 512000 limit",
    ],
  ])("a ManifestWork is refused that %s, on creation and on change", async (_, manifests, words) => {
    const refusal = await refusalOf(create(manifests));
    expect(refusal).toMatchObject({ code: 400, reason: "BadRequest" });
    expect(refusal.message).toContain(DENIED(`manifestworkvalidators.admission.${WORKS}`));
    expect(refusal.message).toContain(words);
    const { metadata } = await create([manifest("good")]);
    const change = { spec: { workload: { manifests } } };
    const changed = client().patch(ManifestWork, `default/${metadata.name}`, change, { type: "merge" });
    expect(await refusalOf(changed)).toMatchObject({ code: 400, message: expect.stringContaining(words) });
  });

  it("a ManifestWork just below the limit is let in", async () => {
    const created = await create(
      Array.from({ length: 5 }, (_, index) => manifest(`m${index}`, { data: { x: "x".repeat(102_000) } })),
    );
    expect(created.spec?.workload?.manifests).toHaveLength(5);
    await client().delete(ManifestWork, `default/${created.metadata.name}`);
  });

  it("a ManifestWork acts in the name only of whom its writer may, on creation and on change", async () => {
    const executor = (name: string) => ({
      executor: { subject: { type: "ServiceAccount", serviceAccount: { namespace: "ns", name } } },
    });
    const { client: writer, name: user } = await somebody(hub(), [
      { apiGroups: [WORKS], resources: ["manifestworks"], verbs: ["get", "create", "patch"] },
      rule(WORKS, "manifestworks", "execute-as", "system:serviceaccount:ns:robot"),
    ]);
    clients.push(writer);
    const allowed = await create([manifest("a")], executor("robot"), writer);
    const refusal = await refusalOf(create([manifest("a")], executor("other"), writer));
    expect(refusal.code).toBe(400);
    expect(refusal.message).toContain(
      `user ${user} cannot manipulate the Manifestwork with executor ns/other in namespace default`,
    );
    const patch = (change: object) =>
      writer.patch(ManifestWork, `default/${allowed.metadata.name}`, change, { type: "merge" });
    expect(await refusalOf(patch({ spec: executor("other") }))).toMatchObject({ code: 400 });
    await patch({ metadata: { labels: { a: "b" } } });
    await patch({ spec: { workload: { manifests: [manifest("b")] } } });
    const nil = await create([manifest("b")], {}, writer);
    expect(nil.spec?.executor, "nobody named, and the gate is closed").toBeUndefined();
  });

  const otherwise = "cannot be made to do something else in a name that its writer may not use, and may be labelled";
  it.runIf(asksAtEveryChange)(`a ManifestWork ${otherwise}`, async () => {
    const executor = { subject: { type: "ServiceAccount", serviceAccount: { namespace: "ns", name: "robot" } } };
    const { metadata } = await create([manifest("a")], { executor });
    const { client: writer, name: user } = await somebody(hub(), [
      { apiGroups: [WORKS], resources: ["manifestworks"], verbs: ["get", "patch", "update"] },
    ]);
    clients.push(writer);
    const patch = (change: object) => writer.patch(ManifestWork, `default/${metadata.name}`, change, { type: "merge" });
    for (const spec of [
      { workload: { manifests: [manifest("b")] } },
      { deleteOption: { propagationPolicy: "Orphan" } },
      { manifestConfigs: [{ resourceIdentifier: { resource: "configmaps", name: "a", namespace: "default" } }] },
    ]) {
      expect(await refusalOf(patch({ spec }))).toMatchObject({
        code: 400,
        message: expect.stringContaining(`user ${user} cannot manipulate the Manifestwork with executor ns/robot`),
      });
    }
    const finalizers = ["cluster.open-cluster-management.io/manifest-work-cleanup"];
    await patch({ metadata: { labels: { a: "b" }, finalizers } });
    await patch({ metadata: { finalizers: null } });
    // Without a name to hide behind it is what its writer may do: with the gate closed, anything.
    expect(
      (await patch({ spec: { executor: null, workload: { manifests: [manifest("b")] } } })).spec?.executor,
    ).toBeUndefined();
  });
}
