import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { ClusterProfile } from "#api/inventory";
import { createExecEngine } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { type Cluster, connectedCluster, createFleet, type Fleet, isUnreachable } from "#runtime";
import { eventually } from "../../../test/support/eventually.ts";
import { FLEET, type InventoryStage, inventoryStage, SECRETS, SPOKE } from "../../../test/support/inventory.ts";
import {
  clusterProfilesProvider,
  createInventoryAccess,
  type Provider,
  type ProviderFile,
  type ProviderSource,
  tokenAccessProvider,
} from "./index.ts";

const NAME = `${FLEET}/${SPOKE}`;
const OURS: Provider = {
  name: "token-secretreader",
  builtin: "token-secretreader",
  argsPolicy: "Ignore",
  envPolicy: "Ignore",
};

let stage: InventoryStage;
const stop = new AbortController();
let hub: Cluster;
let fleet: Fleet;
let ended: Promise<void>;
let useFile: (providers: readonly Provider[]) => void;

beforeAll(async () => {
  stage = await inventoryStage();
  const { source, use } = providerFile([OURS]);
  useFile = use;
  const { client } = stage.hub;
  const access = createInventoryAccess({
    source,
    exec: createExecEngine({ env: {}, policy: { type: "DenyAll" } }),
    hub: { client, namespace: SECRETS },
    clock: systemClock,
  });
  hub = connectedCluster({ name: "hub", client, clock: systemClock, log: silentLog });
  const provider = clusterProfilesProvider({ hub, access, log: silentLog });
  fleet = createFleet({ provider, clock: systemClock, log: silentLog });
  ended = fleet.run(stop.signal);
});
afterAll(async () => {
  stop.abort();
  await ended;
  await stage.close();
});

/** A provider file that the test writes. */
function providerFile(first: readonly Provider[]): { source: ProviderSource; use: typeof useFile } {
  const listeners = new Set<() => void>();
  let current: ProviderFile = { providers: first, warnings: [] };
  const source: ProviderSource = {
    current: () => current,
    problem: () => undefined,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {},
  };
  const use = (providers: readonly Provider[]) => {
    current = { providers, warnings: [] };
    for (const listener of listeners) listener();
  };
  return { source, use };
}

const token = (key = "token") => {
  const { url: server, authority } = stage.spoke;
  return tokenAccessProvider({ server, authority, secretName: SPOKE, secretNamespace: SECRETS, key });
};

const sayHealthy = (status: "True" | "False") => {
  const condition = { type: "ControlPlaneHealthy", status, reason: "Test", message: "" };
  const conditions = [{ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }];
  return stage.hub.client.patch(ClusterProfile, NAME, { status: { conditions } }, { subresource: "status" });
};

const isReached = () => eventually(async () => expect(isUnreachable(await fleet.reach(NAME))).toBe(false));
const fails = (reason: string) => eventually(async () => expect(await fleet.reach(NAME)).toMatchObject({ reason }));

describe("a ClusterProfile, from its first day to its last", () => {
  it("has no way in until it offers one that the provider file knows", async () => {
    await fails("MulticlusterDisabled");
    await stage.offer(token());
    await isReached();
  });

  it("leads there by its namespace and name too", async () => {
    expect(isUnreachable(await fleet.reach({ namespace: FLEET, name: SPOKE }))).toBe(false);
  });

  it("goes on with a rotated token, on the same connection and with the same copies", async () => {
    const following = new AbortController();
    const maps = fleet.cache(ConfigMap);
    maps.start(following.signal);
    await eventually(() => expect(maps.on(NAME)).toBeDefined());
    const before = fleet.get(NAME);
    await stage.revokeTokens();
    await stage.rotateToken();
    await eventually(async () => {
      const cluster = await fleet.reach(NAME);
      if (isUnreachable(cluster)) throw new Error(cluster.message);
      await cluster.client.get(ConfigMap, "kube-system/extension-apiserver-authentication");
    });
    expect(fleet.get(NAME)).toBe(before);
    following.abort();
  });

  it("stays connected when its control plane is said to be ill, because the fleet sees for itself", async () => {
    const before = fleet.get(NAME);
    await sayHealthy("False");
    await eventually(() => {
      const [condition] = hub.cache(ClusterProfile).get(NAME)?.status?.conditions ?? [];
      expect(condition?.status).toBe("False");
    });
    expect(fleet.get(NAME)).toBe(before);
    expect(isUnreachable(await fleet.reach(NAME))).toBe(false);
  });

  it("is shut out when the provider file no longer knows its way in, and let in again", async () => {
    useFile([]);
    await fails("MulticlusterDisabled");
    expect(fleet.get(NAME)).toBeUndefined();
    useFile([OURS]);
    await fails("ClusterUnhealthy");
    await sayHealthy("True");
    await isReached();
  });

  it("says in the inventory's words that its credentials cannot be had", async () => {
    useFile([]);
    await fails("MulticlusterDisabled");
    await stage.offer(token("another"));
    useFile([OURS]);
    await fails("AccessProviderFailed");
    await stage.offer(token());
    await isReached();
  });

  it("leaves the fleet when it is deleted", async () => {
    await stage.hub.client.delete(ClusterProfile, NAME);
    await fails("ClusterNotFound");
    expect(fleet.members).toEqual([]);
  });
});
