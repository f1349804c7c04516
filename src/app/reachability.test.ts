import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Namespace } from "#api/core";
import { ClusterProfile, clusterProfileCrd } from "#api/inventory";
import { ownProvider, tokenAccessProvider, writeProviderFile } from "#features/inventory";
import { systemClock } from "#lib/clock";
import { eventually } from "../../test/support/eventually.ts";
import { startEmbedded, type TestServer } from "../../test/support/servers.ts";
import { type ReachabilityOptions, untilReachable } from "./reachability.ts";
import { UserError } from "./user-error.ts";

let hub: TestServer;
let dir: string;
let options: ReachabilityOptions;

beforeAll(async () => {
  [hub, dir] = await Promise.all([startEmbedded("hub"), mkdtemp(join(tmpdir(), "capstan-reachability-"))]);
  await hub.client.create(CustomResourceDefinition, clusterProfileCrd);
  await hub.client.create(Namespace, { metadata: { name: "fleet" } });
  await eventually(() =>
    hub.client.create(ClusterProfile, {
      metadata: { name: "c1", namespace: "fleet" },
      spec: { clusterManager: { name: "test" } },
    }),
  );
  const providerFile = join(dir, "providers.json");
  const capstan: [string, string] = ["/node", "/main.js"];
  await writeProviderFile(providerFile, [ownProvider({ plugin: "token-secretreader", capstan, kubeconfig: "/hub" })]);
  options = {
    hub: hub.client,
    namespace: "fleet",
    clusters: ["c1"],
    providerFile,
    own: { commands: [capstan], kubeconfigs: ["/hub"] },
    patienceMs: 1,
    logs: "/fleet/logs",
    clock: systemClock,
    signal: new AbortController().signal,
  };
});
afterAll(async () => {
  await hub?.close();
  await rm(dir, { recursive: true, force: true });
});

const failure = async (more: Partial<ReachabilityOptions>) =>
  untilReachable({ ...options, ...more }).catch((error: unknown) => error);

it("names the profile, the cause and where to look when a cluster is not reached in time", async () => {
  const error = await failure({ clusters: ["nobody"] });
  expect(error).toBeInstanceOf(UserError);
  expect(error).toHaveProperty(
    "message",
    expect.stringMatching(/^nobody cannot be reached through ClusterProfile fleet\/nobody: .+; see \/fleet\/logs$/),
  );
});

it("says what the way in lacks: the profile offers none, then its Secret is missing", async () => {
  const says = (text: RegExp) =>
    eventually(async () =>
      expect(await failure({ patienceMs: 50 })).toHaveProperty("message", expect.stringMatching(text)),
    );
  await says(/it offers none.*MulticlusterDisabled/);
  const place = { secretNamespace: "fleet", secretName: "nothing", key: "token" };
  const accessProviders = [tokenAccessProvider({ server: hub.url, authority: hub.authority, ...place })];
  await hub.client.patch(ClusterProfile, "fleet/c1", { status: { accessProviders } }, { subresource: "status" });
  await says(/secrets "nothing" not found.*AccessProviderFailed/);
});

it("waits no longer than its caller", async () => {
  const stop = new AbortController();
  const waiting = failure({ patienceMs: 3_600_000, signal: stop.signal });
  stop.abort(new Error("Ctrl-C"));
  expect(await waiting).toHaveProperty("message", "Ctrl-C");
});
