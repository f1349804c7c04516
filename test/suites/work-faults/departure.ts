/** Manifests that leave their work in the moment in which the agent that has just made their objects dies. */
import { expect, it } from "vitest";
import { ManifestWork, type UpdateStrategy } from "#api/work";
import { eventually } from "../../support/eventually.ts";
import type { Passage } from "../../support/gate.ts";
import { Place } from "./place.ts";
import { Restarted, type WorkFaultStage } from "./stage.ts";

function isCreation({ method, path, body }: Passage): boolean {
  return method === "POST" && path.endsWith("/configmaps") && body.includes('"name":"leaves"');
}

export function departureCases(stageOf: () => WorkFaultStage): void {
  it.each<[UpdateStrategy["type"], (passage: Passage) => boolean]>([
    ["Update", isCreation],
    ["CreateOnly", isCreation],
    ["ServerSideApply", ({ method, path }) => method === "PATCH" && path.endsWith("/configmaps/leaves")],
  ])(
    "what an agent made by %s before it died goes, although its manifest has left the work since",
    async (type, isMade) => {
      const stage = stageOf();
      const place = new Place(stage, stage.fresh(`departed-${type.toLowerCase()}`));
      const work = place.cluster;
      await place.prepare();
      let dying: Promise<void> | undefined;
      const judge = async (passage: Passage): Promise<boolean> => {
        if (dying || passage.when !== "after" || !isMade(passage)) return false;
        await place.wish(work, place.map("stays"));
        dying = agent.kill();
        await dying;
        spoke.gate.drop();
        return true;
      };
      const hub = await stage.way(place.cluster, "hub", () => false);
      const spoke = await stage.way(place.cluster, "spoke", judge);
      const ways = ["--hub-kubeconfig", hub.kubeconfig, "--spoke-kubeconfig", spoke.kubeconfig];
      const agent = new Restarted("agent", "work", "--cluster-name", place.cluster, ...ways);
      try {
        await stage.hub.client.create(ManifestWork, {
          metadata: { name: work, namespace: place.cluster },
          spec: {
            workload: { manifests: [place.map("leaves"), place.map("stays")] },
            manifestConfigs: [
              {
                resourceIdentifier: { resource: "configmaps", name: "*", namespace: place.namespace },
                updateStrategy: { type },
              },
            ],
          },
        });
        await eventually(() => expect(dying).toBeDefined());
        await place.untilReported(work);
        await eventually(async () => expect(await place.maps()).toEqual({ stays: "1" }));
        await eventually(async () => {
          const { status } = await place.record(work);
          expect(status?.appliedResources?.map(({ name }) => name)).toEqual(["stays"]);
        });
      } finally {
        await dying;
        await agent.stop();
        await Promise.all([hub.gate.close(), spoke.gate.close()]);
      }
    },
  );
}
