/** The hub's own controllers killed with every write that they make to let works and clusters go. */
import { expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { ClusterRole } from "#api/rbac";
import { ManifestWork } from "#api/work";
import { isNotFound } from "#kube";
import { eventually } from "../../support/eventually.ts";
import type { Passage } from "../../support/gate.ts";
import { Place } from "./place.ts";
import { Restarted, type WorkFaultStage } from "./stage.ts";

/** Everybody has to be started again and again. */
const PATIENCE_MS = 300_000;
const TIMEOUT_MS = 2 * PATIENCE_MS;

/** What the registration agent of the cluster would say: one that is not heard of is given up instead. */
async function reportWell({ hub }: WorkFaultStage, cluster: string): Promise<void> {
  const { metadata, status } = await hub.client.get(ManagedCluster, cluster);
  const said = ["ManagedClusterJoined", "ManagedClusterConditionAvailable"].map((type) => {
    return { type, status: "True", reason: "Test", message: "", lastTransitionTime: new Date().toISOString() } as const;
  });
  const { resourceVersion } = metadata;
  const change = { metadata: { resourceVersion }, status: { conditions: [...(status?.conditions ?? []), ...said] } };
  await hub.client.patch(ManagedCluster, cluster, change, { type: "merge", subresource: "status" });
}

export function controllerCases(stageOf: () => WorkFaultStage): void {
  it(
    "a hub's controllers that are killed with every write let works that are finished and a cluster go nevertheless",
    async () => {
      const stage = stageOf();
      const { client } = stage.hub;
      const cluster = stage.fresh("departing");
      const place = new Place(stage, cluster);
      const fatal = new Set<string>();
      let isArmed = false;
      let controllers: Restarted | undefined;
      let dying: Promise<void> | undefined;
      /** At the first of each kind of write: before the server has it, or before the answer comes, by turns. */
      const judge = async ({ when, method, path }: Passage): Promise<boolean> => {
        const write = `${method} ${path.replace(/^.*\/(?=[^/]+\/[^/]+$)/, "")}`;
        const isDue = isArmed && path.includes(cluster) && when === (fatal.size % 2 === 0 ? "after" : "before");
        if (!isDue || fatal.has(write)) return false;
        fatal.add(write);
        dying = controllers?.kill();
        await dying;
        way.gate.drop();
        return true;
      };
      const way = await stage.way("controllers", "hub", judge);
      const gates = ["--feature-gates", "CleanUpCompletedManifestWork=true"];
      controllers = new Restarted("hub", "--kubeconfig", way.kubeconfig, "--no-webhooks", ...gates);
      await place.accept();
      await eventually(() => client.get(Lease, `${cluster}/managed-cluster-lease`));
      await eventually(() => reportWell(stage, cluster));
      const agent = await place.serve();
      try {
        isArmed = true;
        for (const work of ["first", "second"]) await place.wish(work, place.map(work));
        await client.create(ManifestWork, {
          metadata: { name: "finished", namespace: cluster },
          spec: {
            workload: { manifests: [place.map("finished", "done")] },
            deleteOption: { propagationPolicy: "Foreground", ttlSecondsAfterFinished: 0 },
            manifestConfigs: [
              {
                resourceIdentifier: { resource: "configmaps", namespace: place.namespace, name: "finished" },
                conditionRules: [{ condition: "Complete", type: "CEL", celExpressions: ["object.data.k == 'done'"] }],
              },
            ],
          },
        });
        await place.untilReported("first", "second");
        await eventually(async () => {
          expect(await place.maps()).toEqual({ first: "1", second: "1" });
          await expect(client.get(ManifestWork, `${cluster}/finished`)).rejects.toSatisfy(isNotFound);
        }, PATIENCE_MS);
        await client.delete(ManagedCluster, cluster);
        await eventually(() => expect(client.get(ManagedCluster, cluster)).rejects.toSatisfy(isNotFound), PATIENCE_MS);
        expect((await client.list(ManifestWork, { namespace: cluster })).items).toEqual([]);
        expect(await place.maps()).toEqual({});
        await eventually(() =>
          expect(client.get(ClusterRole, `open-cluster-management:managedcluster:${cluster}`)).rejects.toSatisfy(
            isNotFound,
          ),
        );
        expect([...fatal]).toEqual(
          expect.arrayContaining([
            "DELETE manifestworks/finished",
            "DELETE manifestworks/first",
            "DELETE manifestworks/second",
            `PATCH managedclusters/${cluster}`,
          ]),
        );
        expect(controllers.lives).toBe(fatal.size + 1);
      } finally {
        await agent.stop();
        await dying;
        await controllers.stop();
        await way.gate.close();
      }
    },
    TIMEOUT_MS,
  );
}
