/** Many objects deleted at once. */
import { beforeEach, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Body } from "../support/raw.ts";
import { at, refusal, refused, type Staged } from "./stage.ts";

const names = ({ items }: Body) => items.map(({ metadata }) => metadata.name);

export function collectionsSuite(stage: Staged): void {
  let space: string;
  beforeEach(async () => {
    space = await stage().namespace();
  });
  const maps = (name?: string) => at(space, "configmaps", name);
  const made = async (...all: string[]): Promise<void> => {
    for (const name of all)
      await stage().admin.post(maps(), { metadata: { name, labels: { part: name.slice(0, 1) } } });
  };
  /** Those that the case made: a namespace has some of its own. */
  const left = async () => names((await stage().admin.get(`${maps()}?labelSelector=part`)).body);

  it("delete-collection.fields: selects by fields", async () => {
    await made("a1", "a2", "b1");
    const { code, body } = await stage().admin.delete(`${maps()}?fieldSelector=metadata.name%3Da2`);
    expect([code, names(body)]).toEqual([200, ["a2"]]);
    expect(await left()).toEqual(["a1", "b1"]);
    const odd = await stage().admin.delete(`${maps()}?fieldSelector=odd%3Da2`);
    expect(refusal(odd)).toEqual(refused(400, "BadRequest"));
    expect(refusal(await stage().admin.delete(`${maps()}?labelSelector=a%20b`))).toEqual(refused(400, "BadRequest"));
  });

  it("delete-collection.dry-run: leaves all in place when it runs dry", async () => {
    await made("a1", "a2");
    const byQuery = await stage().admin.delete(`${maps()}?labelSelector=part&dryRun=All`);
    const byBody = await stage().admin.delete(`${maps()}?labelSelector=part`, { dryRun: ["All"] });
    expect([names(byQuery.body), names(byBody.body)]).toEqual([
      ["a1", "a2"],
      ["a1", "a2"],
    ]);
    expect(await left()).toEqual(["a1", "a2"]);
  });

  it("delete-collection.finalizers: marks those that somebody holds", async () => {
    await made("a1");
    const labels = { part: "h" };
    await stage().admin.post(maps(), { metadata: { name: "held", labels, finalizers: ["example.com/held"] } });
    await stage().admin.delete(`${maps()}?labelSelector=part`);
    expect(await left()).toEqual(["held"]);
    expect((await stage().admin.get(maps("held"))).body.metadata.deletionTimestamp).toBeDefined();
    await stage().admin.patch(maps("held"), { metadata: { finalizers: null } });
    expect(await left()).toEqual([]);
  });

  it("delete-collection.options: takes the options of a deletion, from the query or the body", async () => {
    await made("a1", "a2", "b1");
    await stage().admin.delete(`${maps()}?labelSelector=part%3Da&propagationPolicy=Foreground`);
    await eventually(async () => expect(await left()).toEqual(["b1"]));
    for (const reply of [
      await stage().admin.delete(`${maps()}?propagationPolicy=Sideways`),
      await stage().admin.delete(maps(), { propagationPolicy: "Sideways" }),
    ]) {
      expect(refusal(reply)).toEqual(refused(422, "Invalid", "propagationPolicy FieldValueNotSupported"));
    }
    expect(await left()).toEqual(["b1"]);
  });

  it("delete-collection.grace: gives Pods on nodes the time that is asked for", async () => {
    await eventually(async () =>
      expect((await stage().admin.get(at(space, "serviceaccounts", "default"))).code).toBe(200),
    );
    for (const name of ["a", "b"]) {
      await stage().admin.post(at(space, "pods"), {
        metadata: { name },
        spec: { nodeName: "nowhere", containers: [{ name: "main", image: "registry.example/app:1" }] },
      });
    }
    await stage().admin.delete(`${at(space, "pods")}?gracePeriodSeconds=7`);
    const { body } = await stage().admin.get(at(space, "pods"));
    for (const { metadata } of body.items) expect(metadata.deletionGracePeriodSeconds).toBe(7);
    await stage().admin.delete(at(space, "pods"), { gracePeriodSeconds: 0 });
    expect((await stage().admin.get(at(space, "pods"))).body.items).toEqual([]);
  });

  it("delete-collection.nothing: is content with nothing to delete", async () => {
    const { code, body } = await stage().admin.delete(`${maps()}?labelSelector=part%3Dnone`);
    expect([code, body.kind, body.items]).toEqual([200, "ConfigMapList", []]);
  });

  it("delete-collection.watch: is seen by who watches, one by one", async () => {
    await made("a1", "a2");
    const { body } = await stage().admin.get(maps());
    const watch = await stage().admin.watch(
      `${maps()}?watch=true&labelSelector=part&resourceVersion=${body.metadata.resourceVersion}`,
    );
    await stage().admin.delete(`${maps()}?labelSelector=part`);
    const events = await watch.seen(2);
    expect(events.map(({ type, object }) => [type, object.metadata.name]).toSorted()).toEqual([
      ["DELETED", "a1"],
      ["DELETED", "a2"],
    ]);
    watch.close();
  });

  it("delete-collection.cluster: works on what lies in no namespace, by labels", async () => {
    const group = "/apis/scheduling.k8s.io/v1/priorityclasses";
    const labels = { suite: space };
    for (const [index, name] of [`${space}-a`, `${space}-b`].entries()) {
      await stage().admin.post(group, { metadata: { name, labels }, value: index + 1 });
    }
    const { code, body } = await stage().admin.delete(`${group}?labelSelector=suite%3D${space}`);
    expect([code, names(body)]).toEqual([200, [`${space}-a`, `${space}-b`]]);
    expect((await stage().admin.get(`${group}?labelSelector=suite%3D${space}`)).body.items).toEqual([]);
  });

  it("delete-collection.right: is a right of its own", async () => {
    await made("a1");
    const carl = await stage().user("carl");
    const rbac = (kind: string) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${space}/${kind}`;
    await stage().admin.post(rbac("roles"), {
      metadata: { name: "one-by-one" },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "get", "delete"] }],
    });
    await stage().admin.post(rbac("rolebindings"), {
      metadata: { name: "carl" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "one-by-one" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "carl" }],
    });
    await eventually(async () => expect((await carl.get(maps("a1"))).code).toBe(200));
    expect(refusal(await carl.delete(`${maps()}?labelSelector=part`))).toEqual(refused(403, "Forbidden"));
    expect(await left()).toEqual(["a1"]);
  });
}
