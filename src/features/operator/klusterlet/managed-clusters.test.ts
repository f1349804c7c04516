import { afterEach, expect, it } from "vitest";
import { Secret } from "#api/core";
import { Klusterlet } from "#api/operator";
import { kubeconfigFor, kubeconfigText } from "#kube";
import type { FleetChange } from "#runtime";
import { fakeCluster } from "../../../../test/support/index.ts";
import { managedClustersProvider } from "./managed-clusters.ts";

const stopping = new AbortController();
afterEach(() => stopping.abort());

const hosted = (name: string) => ({ metadata: { name }, spec: { deployOption: { mode: "Hosted" } } });
const way = (namespace: string, server: string) => ({
  metadata: { namespace, name: "external-managed-kubeconfig" },
  data: {
    kubeconfig: Buffer.from(kubeconfigText(kubeconfigFor({ name: "m", server, token: "t" }))).toString("base64"),
  },
});

it("offers the clusters of hosted Klusterlets, the way that their Secrets say, and no others", async () => {
  const cluster = fakeCluster(
    [Klusterlet, hosted("a"), hosted("b"), { metadata: { name: "local" } }],
    [Secret, way("a", "https://a:6443"), way("local", "https://local:6443")],
  );
  const changes = managedClustersProvider({ cluster }).follow(stopping.signal)[Symbol.asyncIterator]();
  const next = async (): Promise<FleetChange> => {
    const { value, done } = await changes.next();
    if (done) throw new Error("it ended");
    return value;
  };
  const offered = new Map<string, unknown>();
  for (let change = await next(); change.type !== "listed"; change = await next()) {
    if (change.type === "offered") offered.set(change.offer.name, await change.offer.connect(stopping.signal));
  }
  expect([...offered.keys()].sort()).toEqual(["managed/a", "managed/b"]);
  expect(offered.get("managed/a")).toMatchObject({ server: "https://a:6443", token: "t" });
  expect(offered.get("managed/b")).toMatchObject({
    message: expect.stringContaining("Secret b/external-managed-kubeconfig is not there"),
  });

  cluster.put(Secret, way("b", "https://b:6443"));
  const arrived = await next();
  expect(arrived.type === "offered" && (await arrived.offer.connect(stopping.signal))).toMatchObject({
    server: "https://b:6443",
  });
  cluster.drop(Klusterlet, "a");
  expect(await next()).toEqual({ type: "removed", name: "managed/a" });
});

it("runs no program that a kubeconfig names, and reads no file", async () => {
  const text = [
    "apiVersion: v1",
    "kind: Config",
    "current-context: x",
    "clusters: [{name: x, cluster: {server: 'https://x', certificate-authority: /etc/passwd}}]",
    "users: [{name: x, user: {token: t}}]",
    "contexts: [{name: x, context: {cluster: x, user: x}}]",
  ].join("\n");
  const secret = { ...way("a", ""), data: { kubeconfig: Buffer.from(text).toString("base64") } };
  const cluster = fakeCluster([Klusterlet, hosted("a")], [Secret, secret]);
  for await (const change of managedClustersProvider({ cluster }).follow(new AbortController().signal)) {
    if (change.type !== "offered") continue;
    expect(await change.offer.connect(new AbortController().signal)).toMatchObject({
      reason: "KubeconfigInvalid",
      message: expect.stringContaining("the Secret has no key passwd"),
    });
    break;
  }
});
