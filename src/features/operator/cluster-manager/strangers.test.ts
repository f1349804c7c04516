import { describe, expect, it } from "vitest";
import { Deployment, ReplicaSet } from "#api/apps";
import { ConfigMap, Event, Secret, ServiceAccount } from "#api/core";
import { isNotFound, statusError } from "#kube";
import { fakeCluster } from "../../../../test/support/index.ts";
import { type Stranger, strangersIn } from "./strangers.ts";

const signal = new AbortController().signal;
const VERBS = ["get", "list", "delete"];

const CORE = [ConfigMap, Secret, ServiceAccount, Event].map(({ plural, kind }) => ({
  name: plural,
  kind,
  namespaced: true,
  verbs: VERBS,
}));
const APPS = [Deployment, ReplicaSet].map(({ plural, kind }) => ({
  name: plural,
  kind,
  namespaced: true,
  verbs: VERBS,
}));

function served(cluster: ReturnType<typeof fakeCluster>, more: Record<string, unknown> = {}) {
  const answers: Record<string, unknown> = {
    "/apis": { groups: [{ name: "apps", preferredVersion: { groupVersion: "apps/v1" } }] },
    "/api/v1": {
      resources: [...CORE, { name: "nodes", kind: "Node", namespaced: false, verbs: VERBS }],
    },
    "/apis/apps/v1": {
      resources: [...APPS, { name: "deployments/status", kind: "Deployment", namespaced: true, verbs: VERBS }],
    },
    ...more,
  };
  const raw = async (path: string) => {
    const answer = answers[path];
    if (answer instanceof Error) throw answer;
    return JSON.stringify(answer);
  };
  return { ...cluster, client: { ...cluster.client, raw } };
}

const isOurs = ({ object }: Stranger) => object.metadata.labels?.ours !== undefined;
const at = (namespace: string, name: string, more: object = {}) => ({ metadata: { namespace, name, ...more } });

describe("who else is in a namespace", () => {
  it("nobody, where there is only what every namespace has, what is ours, and what belongs to something else", async () => {
    const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "d", uid: "1" };
    const cluster = fakeCluster(
      [ServiceAccount, at("a", "default")],
      [ConfigMap, at("a", "kube-root-ca.crt"), at("a", "ours", { labels: { ours: "" } }), at("other", "x")],
      [Event, at("a", "e") as never],
      [ReplicaSet, at("a", "r", { ownerReferences: [owner] }) as never],
    );
    expect(await strangersIn(new Set(["a"]), { cluster: served(cluster), isOurs, signal })).toEqual(new Map());
  });

  it("is named by what they have there", async () => {
    const cluster = fakeCluster([ConfigMap, at("a", "mine")], [Deployment, at("b", "web") as never]);
    const found = await strangersIn(new Set(["a", "b", "c"]), { cluster: served(cluster), isOurs, signal });
    expect([...found]).toEqual([
      ["a", "ConfigMap mine is in it"],
      ["b", "Deployment web is in it"],
    ]);
  });

  it("is whoever has an owner elsewhere, because that owner is not asked when the namespace goes", async () => {
    const owner = { apiVersion: "example.com/v1", kind: "Fleet", name: "f", uid: "1" };
    const cluster = fakeCluster([ConfigMap, at("a", "theirs", { ownerReferences: [owner] })]);
    const found = await strangersIn(new Set(["a"]), { cluster: served(cluster), isOurs, signal });
    expect(found.get("a")).toBe("ConfigMap theirs is in it");
  });

  it("may be anybody, where the server does not say what there is", async () => {
    const broken = statusError({
      apiVersion: "v1",
      kind: "Status",
      metadata: {},
      status: "Failure",
      code: 503,
      reason: "ServiceUnavailable",
      message: "down",
    });
    expect(isNotFound(broken)).toBe(false);
    const cluster = served(fakeCluster(), { "/apis/apps/v1": broken });
    const found = await strangersIn(new Set(["a"]), { cluster, isOurs, signal });
    expect(found.get("a")).toContain("apps/v1");
  });
});
