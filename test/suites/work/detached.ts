/** A cluster that is lost, given up by its hub and comes back: what its works had brought goes, and nothing is left to do. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import { ConfigMap } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { Role, RoleBinding } from "#api/rbac";
import { AppliedManifestWork, appliedManifestWorkCrd, DETACH_LEDGER, ManifestWork, manifestWorkCrd } from "#api/work";
import { accept, runAgent, runHub, untilWorking } from "#app";
import { isNotFound } from "#kube";
import { systemClock } from "#lib/clock";
import { findCondition, isTrue } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { eventually } from "../../support/eventually.ts";
import { bootstrapKubeconfig, installDefinitions, prepareHub, prepareSpoke } from "../../support/prepared.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";
import { configMap } from "./stage.ts";

const NAME = "cluster1";
const AGENTS = "open-cluster-management-agent";
const LEDGER = `${NAME}/${DETACH_LEDGER}`;

export function detachedSuite(start: StartServer): void {
  let hub: TestServer;
  let spoke: TestServer;
  const stops: (() => Promise<void>)[] = [];
  const running = (program: (signal: AbortSignal) => Promise<void>): (() => Promise<void>) => {
    const stopping = new AbortController();
    const ended = program(stopping.signal);
    const stop = async () => {
      stopping.abort();
      await ended;
    };
    stops.push(stop);
    return stop;
  };
  const startAgent = async () => {
    const bootstrap = await bootstrapKubeconfig(hub.client, hub.authority);
    return running((signal) =>
      runAgent({
        clusterName: NAME,
        spoke: spoke.client,
        endpoints: [{ url: spoke.url, caBundle: Buffer.from(spoke.authority).toString("base64") }],
        bootstrap,
        namespace: AGENTS,
        clock: systemClock,
        log: silentLog,
        signal,
      }),
    );
  };
  const work = async (name: string, ...manifests: DynamicObject[]) => {
    const metadata = { name, namespace: NAME };
    await hub.client.create(ManifestWork, { metadata, spec: { workload: { manifests } } });
    await eventually(async () => {
      const { status } = await hub.client.get(ManifestWork, `${NAME}/${name}`);
      expect(isTrue(status?.conditions, "Applied")).toBe(true);
    });
  };
  const mapsOn = async () =>
    (await spoke.client.list(ConfigMap, { namespace: "default" })).items
      .map(({ metadata }) => metadata.name)
      .filter((name) => name !== "kube-root-ca.crt")
      .sort();
  const recordsOn = async () =>
    (await spoke.client.list(AppliedManifestWork)).items.map(({ spec }) => spec?.manifestWorkName).sort();
  const isGone = (read: Promise<unknown>) => expect(read).rejects.toSatisfy(isNotFound);
  const join = async () => {
    const before = new Date();
    await accept(hub.client, NAME, AbortSignal.timeout(60_000));
    await untilWorking(hub.client, NAME, before, AbortSignal.timeout(60_000));
    // So that its loss shows soon.
    await hub.client.patch(ManagedCluster, NAME, { spec: { leaseDurationSeconds: 1 } });
  };

  beforeAll(async () => {
    [hub, spoke] = await Promise.all([start("hub"), start(NAME)]);
    await prepareHub(hub.client);
    await prepareSpoke(spoke.client, AGENTS);
    await installDefinitions(hub.client, [manifestWorkCrd]);
    await installDefinitions(spoke.client, [appliedManifestWorkCrd]);
    running((signal) =>
      runHub({ client: hub.client, clock: systemClock, log: silentLog, signal, detachPatience: 1_000 }),
    );
  }, 180_000);

  afterAll(async () => {
    await Promise.all(stops.map((stop) => stop()));
    await Promise.all([hub?.close(), spoke?.close()]);
  }, 60_000);

  describe("a cluster that is given up while it is lost", () => {
    it("cleans when it comes back what the ledger names, and that only, and then the ledger goes", async () => {
      const stopAgent = await startAgent();
      await join();
      await spoke.client.create(ConfigMap, { metadata: { name: "theirs", namespace: "default" } });
      await work("one", configMap("default", "a"), configMap("default", "b"));
      await work("two", configMap("default", "c"));

      await stopAgent();
      await eventually(async () => {
        const { status } = await hub.client.get(ManagedCluster, NAME);
        expect(findCondition(status?.conditions, ClusterCondition.Available)?.status).toBe("Unknown");
      });
      await hub.client.delete(ManagedCluster, NAME);
      await eventually(() => isGone(hub.client.get(ManagedCluster, NAME)));
      expect((await hub.client.list(ManifestWork, { namespace: NAME })).items).toEqual([]);
      expect(Object.keys((await hub.client.get(ConfigMap, LEDGER)).data ?? {}).sort()).toEqual(["one", "two"]);
      expect(await mapsOn()).toEqual(["a", "b", "c", "theirs"]);
      expect(await recordsOn()).toEqual(["one", "two"]);

      const stopAgain = await startAgent();
      await eventually(async () => expect(await mapsOn()).toEqual(["theirs"]));
      await eventually(async () => expect(await recordsOn()).toEqual([]));
      await eventually(() => isGone(hub.client.get(ConfigMap, LEDGER)));
      const named = ({ metadata }: Role | RoleBinding) => metadata.name.includes("ledger");
      await eventually(async () => {
        expect((await hub.client.list(Role, { namespace: NAME })).items.filter(named)).toEqual([]);
        expect((await hub.client.list(RoleBinding, { namespace: NAME })).items.filter(named)).toEqual([]);
      });
      await stopAgain();
    });

    it("keeps what new works want when it is let in again before it comes back", async () => {
      const stopAgent = await startAgent();
      await join();
      await work("kept", configMap("default", "k"));
      await work("dropped", configMap("default", "d"));
      await stopAgent();
      await eventually(async () => {
        const { status } = await hub.client.get(ManagedCluster, NAME);
        expect(findCondition(status?.conditions, ClusterCondition.Available)?.status).toBe("Unknown");
      });
      await hub.client.delete(ManagedCluster, NAME);
      await eventually(() => isGone(hub.client.get(ManagedCluster, NAME)));
      await hub.client.create(ManagedCluster, {
        metadata: { name: NAME },
        spec: { hubAcceptsClient: true, leaseDurationSeconds: 1 },
      });
      await eventually(async () => {
        const { status } = await hub.client.get(ManagedCluster, NAME);
        expect(isTrue(status?.conditions, ClusterCondition.HubAccepted)).toBe(true);
      });
      const manifests = [configMap("default", "k", { k: "new" })];
      await hub.client.create(ManifestWork, {
        metadata: { name: "kept", namespace: NAME },
        spec: { workload: { manifests } },
      });
      await startAgent();
      await eventually(async () => expect(await mapsOn()).toEqual(["k", "theirs"]));
      await eventually(async () => expect((await spoke.client.get(ConfigMap, "default/k")).data).toEqual({ k: "new" }));
      await eventually(() => isGone(hub.client.get(ConfigMap, LEDGER)));
    });
  });
}
