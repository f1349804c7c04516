import { describe, expect, it } from "vitest";
import { ConfigMap, Namespace, Pod, Secret, ServiceAccount } from "#api/core";
import { KubeError } from "#kube";
import { type FakeCluster, fakeCluster } from "../../../../test/support/index.ts";
import { removeNamespace } from "./namespace-removal.ts";

const NAME = "agents";
const OURS = { "open-cluster-management.io/created-by-klusterlet": "k" };
const inside = (name: string, labels: Record<string, string> = {}) => ({ metadata: { namespace: NAME, name, labels } });

const VERBS = ["get", "list", "delete"];
const served = [ConfigMap, Secret, ServiceAccount, Pod].map(({ plural, kind }) => ({
  name: plural,
  kind,
  namespaced: true,
  verbs: VERBS,
}));
const DISCOVERY: Record<string, unknown> = {
  "/apis": { groups: [{ name: "apps", preferredVersion: { groupVersion: "apps/v1" } }] },
  "/api/v1": { resources: served },
  "/apis/apps/v1": { resources: [{ name: "replicasets", kind: "ReplicaSet", namespaced: true, verbs: VERBS }] },
};

function stage(): FakeCluster {
  const cluster = fakeCluster(
    [
      Namespace,
      {
        metadata: {
          name: NAME,
          labels: { ...OURS, "operator.open-cluster-management.io/klusterlet": "k", team: "a" },
        },
      },
    ],
    [ServiceAccount, inside("default"), inside("cluster-access", { "open-cluster-management.io/cluster-name": "c1" })],
    [ConfigMap, inside("kube-root-ca.crt")],
    [Secret, inside("bootstrap-hub-kubeconfig"), inside("hub-kubeconfig-secret")],
  );
  const raw = async (path: string) => JSON.stringify(DISCOVERY[path] ?? {});
  return { ...cluster, client: { ...cluster.client, raw } };
}

const remove = (cluster: FakeCluster) =>
  removeNamespace(cluster, NAME, { klusterlet: "k", signal: AbortSignal.timeout(5_000) });

describe("a namespace with nothing but what agents have", () => {
  it("goes", async () => {
    const cluster = stage();
    expect(await remove(cluster)).toEqual({ isGoing: true });
    expect(cluster.read(Namespace, NAME)).toBeUndefined();
    expect(await remove(cluster)).toEqual({ isGoing: false });
  });

  it("goes although Pods of the agents are still ending, and what others keep for them", async () => {
    const cluster = stage();
    const spec = { containers: [] };
    cluster.put(Pod, { ...inside("agent", OURS), spec });
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "1", controller: true };
    cluster.put(Pod, { metadata: { namespace: NAME, name: "other", ownerReferences: [owner] }, spec });
    expect(await remove(cluster)).toEqual({ isGoing: true });
  });
});

describe("a namespace in which somebody else has something", () => {
  it("stays with that, loses what was the agents', and is said", async () => {
    const cluster = stage();
    cluster.put(ConfigMap, inside("precious"));
    expect(await remove(cluster)).toEqual({
      isGoing: false,
      remark: "Namespace agents stays, because it is not only the agents': ConfigMap precious is in it",
    });
    expect(cluster.read(ConfigMap, `${NAME}/precious`)).toBeDefined();
    expect(cluster.readAll(Secret)).toEqual([]);
    expect(cluster.readAll(ServiceAccount).map(({ metadata }) => metadata.name)).toEqual(["default"]);
    expect(cluster.read(Namespace, NAME)?.metadata.labels).toEqual({ team: "a" });
  });

  it("stays where it cannot be seen what is in it, because nothing is removed on a guess", async () => {
    const cluster = stage();
    const list = async () => {
      throw new KubeError("status", "not for you", { code: 403, reason: "Forbidden" });
    };
    const blind = { ...cluster, client: { ...cluster.client, list } };
    expect((await remove(blind)).remark).toContain("cannot be listed");
    expect(cluster.read(Namespace, NAME)).toBeDefined();
  });

  it("stays for a service account of its own, whatever it is called", async () => {
    const cluster = stage();
    cluster.put(ServiceAccount, inside("cluster-access"));
    expect((await remove(cluster)).remark).toContain("ServiceAccount cluster-access");
  });
});
