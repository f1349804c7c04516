import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { ManagedCluster, managedClusterCrd } from "#api/cluster";
import { Namespace, Secret } from "#api/core";
import { type AccessProvider, ClusterProfile, clusterProfileCrd } from "#api/inventory";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { connectedCluster, runControllers } from "#runtime";
import { eventually } from "../../../../test/support/eventually.ts";
import { fakeCluster, runUntilQuiet } from "../../../../test/support/index.ts";
import { startEmbedded, type TestServer } from "../../../../test/support/servers.ts";
import { nextStep, profileAccessController } from "./profile-access.controller.ts";

const SERVER = "https://spoke-1:6443";
const SECRET = { metadata: { name: "capstan-cluster-access", namespace: "spoke-1" } };
const FULL = { ...SECRET, data: { token: "dA==" } };
const KEY = "fleet-system/spoke-1";
const CA = Buffer.from("PEM").toString("base64");

/** What the hub says of a token that lies in the cluster's Secret. */
function entry(server = SERVER, more: object = { "certificate-authority-data": CA }): AccessProvider {
  const extension = { secretName: "capstan-cluster-access", secretNamespace: "spoke-1", key: "token" };
  const extensions = [{ name: "client.authentication.k8s.io/exec", extension }];
  return { name: "token-secretreader", cluster: { server, ...more, extensions } };
}

const theirs: AccessProvider = { name: "cluster-proxy", cluster: { server: "https://proxy" } };
const elsewhere: AccessProvider = { name: "token-secretreader", cluster: { server: "https://elsewhere" } };

function cluster(...urls: string[]): ManagedCluster {
  const managedClusterClientConfigs = urls.map((url) => ({ url, caBundle: CA }));
  return {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name: "spoke-1" },
    spec: { managedClusterClientConfigs },
  };
}

function profile(accessProviders?: AccessProvider[], namespace = "fleet-system", manager = "open-cluster-management") {
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { name: "spoke-1", namespace },
    spec: { clusterManager: { name: manager } },
    ...(accessProviders && { status: { accessProviders } }),
  } satisfies ClusterProfile;
}

describe("what is done about a profile", () => {
  const secretOf = (draft: object): Secret => ({ apiVersion: "v1", kind: "Secret", ...SECRET, ...draft });
  const full = secretOf(FULL);
  const write = (written: AccessProvider) => ({ is: "write", entry: written });
  const nothing = { is: "nothing" };
  const remove = { is: "remove" };

  it.each<[string, AccessProvider[], ManagedCluster, Secret | undefined, object]>([
    ["a token is there", [], cluster(SERVER), full, write(entry())],
    ["the entry is there already", [entry()], cluster(SERVER), full, nothing],
    ["the cluster moved", [entry("https://old")], cluster(SERVER), full, write(entry())],
    ["its authority is another", [entry(SERVER, {})], cluster(SERVER), full, write(entry())],
    [
      "somebody added to the entry",
      [entry(SERVER, { "certificate-authority-data": CA, "proxy-url": "http://p" })],
      cluster(SERVER),
      full,
      nothing,
    ],
    ["the token is still to come", [], cluster(SERVER), secretOf({}), nothing],
    ["the token was taken out, because it is back in a moment", [entry()], cluster(SERVER), secretOf({}), nothing],
    ["the Secret went", [theirs, entry()], cluster(SERVER), undefined, remove],
    [
      "the Secret is going",
      [entry()],
      cluster(SERVER),
      secretOf({ ...FULL, metadata: { ...SECRET.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } }),
      remove,
    ],
    ["nobody knows where the cluster is", [entry()], cluster(), full, remove],
    [
      "there is more than one way, and the first goes in the open",
      [],
      cluster("http://spoke", SERVER, "https://b"),
      full,
      write(entry()),
    ],
    ["an address makes no sense", [], cluster("spoke"), full, nothing],
    ["there was never a token", [theirs], cluster(SERVER), undefined, nothing],
    ["somebody else offers a token by the same plugin", [elsewhere], cluster(SERVER), full, nothing],
    ["somebody else did, and our Secret is gone", [elsewhere], cluster(SERVER), undefined, nothing],
  ])("when %s", (_, entries, managed, secret, step) => {
    expect(nextStep(profile(entries), managed, secret)).toEqual(step);
  });

  it("names no authority where the cluster names none: then its certificate is publicly trusted", () => {
    const managed = cluster();
    const open = { ...managed, spec: { managedClusterClientConfigs: [{ url: SERVER }] } };
    expect(nextStep(profile(), open, full)).toEqual(write(entry(SERVER, {})));
  });
});

describe("on a hub whose definition keeps the list as one value", () => {
  const versions = [{ name: "v1alpha1", served: true, storage: true }];
  const spec = {
    group: "multicluster.x-k8s.io",
    names: clusterProfileCrd.spec.names,
    scope: "Namespaced",
    versions,
  } as const;
  const older = { metadata: { name: "clusterprofiles.multicluster.x-k8s.io" }, spec };
  const hubWith = (...profiles: ClusterProfile[]) =>
    fakeCluster(
      [CustomResourceDefinition, older],
      [ManagedCluster, cluster(SERVER)],
      [Secret, FULL],
      [ClusterProfile, ...profiles],
    );

  it("puts the entry between the others in every namespace, and costs no write the second time", async () => {
    const hub = hubWith(profile([theirs]), profile([], "team-a"));
    await runUntilQuiet(profileAccessController({ hub }));
    expect(hub.read(ClusterProfile, KEY)?.status?.accessProviders).toEqual([theirs, entry()]);
    expect(hub.read(ClusterProfile, "team-a/spoke-1")?.status?.accessProviders).toEqual([entry()]);
    hub.writes.length = 0;
    await runUntilQuiet(profileAccessController({ hub }));
    expect(hub.writes).toEqual([]);
  });

  it("takes it out again and leaves the others", async () => {
    const hub = hubWith(profile([entry(), theirs]));
    hub.drop(Secret, "spoke-1/capstan-cluster-access");
    await runUntilQuiet(profileAccessController({ hub }));
    expect(hub.read(ClusterProfile, KEY)?.status?.accessProviders).toEqual([theirs]);
  });

  it("leaves profiles of other managers alone", async () => {
    const hub = hubWith(profile([], "fleet-system", "other"));
    await runUntilQuiet(profileAccessController({ hub }));
    expect(hub.writes).toEqual([]);
  });
});

describe("on a server that keeps the writers of the list apart", () => {
  let server: TestServer;
  const stop = new AbortController();
  let ended: Promise<void> = Promise.resolve();

  beforeAll(async () => {
    server = await startEmbedded("hub");
    const { client } = server;
    for (const definition of [clusterProfileCrd, managedClusterCrd])
      await client.create(CustomResourceDefinition, definition);
    for (const name of ["fleet-system", "spoke-1"]) await client.create(Namespace, { metadata: { name } });
    await eventually(() => client.create(ManagedCluster, cluster(SERVER)));
    await eventually(() => client.create(ClusterProfile, profile()));
    const hub = connectedCluster({ name: "hub", client, clock: systemClock, log: silentLog });
    const controllers = [profileAccessController({ hub })];
    ended = runControllers({ controllers, clock: systemClock, log: silentLog, signal: stop.signal });
  });
  afterAll(async () => {
    stop.abort();
    await ended;
    await server?.close();
  });

  const offered = async () => (await server.client.get(ClusterProfile, KEY)).status?.accessProviders;
  const apply = (accessProviders: AccessProvider[], fieldManager: string) => {
    const { apiVersion, kind, metadata } = profile();
    const body = { apiVersion, kind, metadata, status: { accessProviders } };
    return server.client.patch(ClusterProfile, KEY, body, {
      type: "apply",
      subresource: "status",
      fieldManager,
      force: true,
    });
  };

  it("owns its entry by apply, beside those of others", async () => {
    await apply([theirs], "proxy");
    await server.client.create(Secret, FULL);
    await eventually(async () => expect(await offered()).toEqual([theirs, entry()]));
    const { metadata } = await server.client.get(ClusterProfile, KEY);
    const owner = metadata.managedFields?.find(({ manager }) => manager === "capstan-cluster-access");
    expect(owner).toMatchObject({ operation: "Apply", subresource: "status" });
    expect(owner?.fieldsV1).toEqual({ "f:status": { "f:accessProviders": expect.anything() } });
  });

  it("puts right what somebody changed in it", async () => {
    await apply([theirs, entry("https://wrong")], "proxy");
    await eventually(async () => expect(await offered()).toEqual([theirs, entry()]));
  });

  it("follows the cluster when it moves", async () => {
    await server.client.patch(ManagedCluster, "spoke-1", { spec: cluster("https://moved").spec });
    await eventually(async () => expect(await offered()).toEqual([theirs, entry("https://moved")]));
  });

  it("removes all of it, whoever added to it, when the Secret goes", async () => {
    await apply(
      [theirs, entry("https://moved", { "certificate-authority-data": CA, "proxy-url": "http://p" })],
      "proxy",
    );
    await server.client.delete(Secret, "spoke-1/capstan-cluster-access");
    await eventually(async () => expect(await offered()).toEqual([theirs]));
  });
});
