/** Works that are finished, and go when their time is over. */
import { describe, expect, it, onTestFinished } from "vitest";
import { ConfigMap } from "#api/core";
import type { ManifestConfig } from "#api/work";
import { finishedWorksController } from "#features/work/hub";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { connectedCluster, runControllers } from "#runtime";
import { eventually } from "../../support/eventually.ts";
import { conditionOf, configMap, type WorkStage } from "./stage.ts";

export function finishedCases(stage: () => WorkStage): void {
  describe("a finished work", () => {
    it("goes when its time is over, with what it brought; one that is not finished or has no time stays", async () => {
      const stop = new AbortController();
      const hub = connectedCluster({ name: "hub", client: stage().hub.client, clock: systemClock, log: silentLog });
      const controllers = [finishedWorksController({ hub, clock: systemClock })];
      const ended = runControllers({ controllers, clock: systemClock, log: silentLog, signal: stop.signal });
      onTestFinished(async () => {
        stop.abort();
        await ended;
      });
      const namespace = await stage().namespace();
      const manifestConfigs: ManifestConfig[] = [
        {
          resourceIdentifier: { resource: "configmaps", namespace, name: "*" },
          conditionRules: [{ condition: "Complete", type: "CEL", celExpressions: ["object.data.state == 'done'"] }],
        },
      ];
      const work = (name: string, state: string, ttlSecondsAfterFinished?: number) =>
        stage().work([configMap(namespace, name, { state })], {
          manifestConfigs,
          ...(ttlSecondsAfterFinished !== undefined && { deleteOption: { ttlSecondsAfterFinished } }),
        });
      const unfinished = await work("unfinished", "new", 0);
      const timeless = await work("timeless", "done");
      const soon = await work("soon", "done", 1);
      const atOnce = await work("at-once", "done", 0);
      for (const name of [soon, atOnce]) await stage().untilGone(name);
      for (const name of ["soon", "at-once"])
        expect(await stage().exists(ConfigMap, `${namespace}/${name}`)).toBe(false);
      await eventually(async () => expect(conditionOf(await stage().get(timeless), "Complete")?.status).toBe("True"));
      await eventually(async () =>
        expect(conditionOf(await stage().get(unfinished), "Complete")?.status).toBe("False"),
      );
      expect((await stage().get(timeless)).metadata.deletionTimestamp).toBeUndefined();
    });
  });
}
