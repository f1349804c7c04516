import { expect, it } from "vitest";
import { Namespace, Secret } from "#api/core";
import { Klusterlet } from "#api/operator";
import { fakeCluster, runUntilQuiet } from "../../../../test/support/index.ts";
import { COPIED_FROM, pullSecretController } from "./pull-secret.controller.ts";

const NAME = "open-cluster-management-image-pull-credentials";
const AGENTS = "open-cluster-management-agent";
const source = {
  metadata: { name: NAME, namespace: "open-cluster-management" },
  type: "kubernetes.io/dockerconfigjson",
  data: { ".dockerconfigjson": "e30=" },
};
const namespaces = [
  Namespace,
  { metadata: { name: "open-cluster-management" } },
  { metadata: { name: AGENTS } },
  { metadata: { name: "addon", labels: { "addon.open-cluster-management.io/namespace": "true" } } },
  { metadata: { name: "default" } },
] as const;

function stage(...secrets: (typeof source)[]) {
  const cluster = fakeCluster([...namespaces], [Klusterlet, { metadata: { name: "k" } }], [Secret, ...secrets]);
  const settle = () => runUntilQuiet(pullSecretController({ cluster, namespace: "open-cluster-management" }));
  const copies = () =>
    cluster
      .readAll(Secret)
      .filter(({ metadata }) => metadata.labels?.[COPIED_FROM])
      .map(({ metadata }) => metadata.namespace)
      .sort();
  return { cluster, settle, copies };
}

it("copies it to where agents and add-ons run, and nowhere else", async () => {
  const { cluster, settle, copies } = stage(source);
  await settle();
  expect(copies()).toEqual(["addon", AGENTS]);
  expect(cluster.read(Secret, `addon/${NAME}`)).toMatchObject({ type: source.type, data: source.data });
});

it("writes nothing the second time", async () => {
  const { cluster, settle } = stage(source);
  await settle();
  cluster.writes.length = 0;
  await settle();
  expect(cluster.writes).toEqual([]);
});

it("follows its source, and the copies go with it", async () => {
  const { cluster, settle, copies } = stage(source);
  await settle();
  cluster.put(Secret, { ...source, data: { ".dockerconfigjson": "eyJhIjoxfQ==" } });
  await settle();
  expect(cluster.read(Secret, `addon/${NAME}`)?.data).toEqual({ ".dockerconfigjson": "eyJhIjoxfQ==" });
  cluster.drop(Secret, `open-cluster-management/${NAME}`);
  await settle();
  expect(copies()).toEqual([]);
});

it("leaves a Secret of that name alone that somebody else made", async () => {
  const { cluster, settle } = stage(source);
  const own = { metadata: { name: NAME, namespace: "addon" }, type: source.type, data: { own: "eA==" } };
  cluster.put(Secret, own);
  await settle();
  expect(cluster.read(Secret, `addon/${NAME}`)?.data).toEqual({ own: "eA==" });
});

it("takes the copies away with the last Klusterlet, because there are no agents to need them", async () => {
  const { cluster, settle, copies } = stage(source);
  await settle();
  cluster.drop(Klusterlet, "k");
  await settle();
  expect(copies()).toEqual([]);
});
