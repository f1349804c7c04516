/** A way to the hub that breaks, and clocks that are off. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { kubeconfigText } from "#kube";
import { eventually } from "../../support/eventually.ts";
import { Relay } from "../../support/relay.ts";
import { ShiftedClock } from "../../support/shifted-clock.ts";
import type { FaultStage, RunningAgent } from "./stage.ts";

const HOUR = 3_600_000;
/** A connection that says nothing is noticed soon, so that the test is. */
const IMPATIENT = { keepAlive: { every: 300, patience: 300 } };

export function networkCases(stageOf: () => FaultStage): void {
  let relay: Relay;
  let agent: RunningAgent;
  const name = "beyond-the-relay";

  beforeAll(async () => {
    const stage = stageOf();
    relay = await Relay.to(stage.hub.url);
    const direct = await stage.bootstrap();
    const clusters = direct.clusters.map((cluster) => ({ ...cluster, server: relay.url }));
    const bootstrapKubeconfig = kubeconfigText({ ...direct, clusters });
    agent = await stage.start(name, { clusterName: name, bootstrapKubeconfig, client: IMPATIENT });
    await stage.admit(name);
    // Losses should show soon.
    await stage.hub.client.patch(ManagedCluster, name, { spec: { leaseDurationSeconds: 1 } });
    await stage.untilWorking(name);
  });

  afterAll(async () => {
    await relay?.mend();
    await agent?.stop();
    await relay?.cut();
  });

  const back = async () => {
    const stage = stageOf();
    await stage.untilNextBeat(name);
    await stage.untilWorking(name);
    await stage.expectOne(name);
    expect(await stage.requests(name)).toHaveLength(1);
  };

  it("that drops everything without a word is left for a new one", async () => {
    relay.fallSilent();
    await eventually(async () =>
      expect((await stageOf().condition(name, "ManagedClusterConditionAvailable"))?.status).toBe("Unknown"),
    );
    await relay.mend();
    await back();
  });

  it("that resets every connection again and again lets beats through in between", async () => {
    for (let times = 0; times < 5; times++) {
      await stageOf().untilNextBeat(name);
      relay.reset();
    }
    await back();
  });

  it("that is slow only makes everything later", async () => {
    relay.delay(200);
    await stageOf().untilNextBeat(name);
    await back();
    relay.delay(0);
  });

  it("behind which the hub is gone for longer than it forgives heals when the hub is back", async () => {
    await relay.cut();
    await eventually(async () =>
      expect((await stageOf().condition(name, "ManagedClusterConditionAvailable"))?.status).toBe("Unknown"),
    );
    await relay.mend();
    await back();
  });

  it("is of no use to a clock that is off by an hour: the hub says so, and when it is right again", async () => {
    const stage = stageOf();
    const id = "off-by-an-hour";
    const clock = new ShiftedClock(-HOUR);
    const running = await stage.start(id, { clusterName: id, clock });
    // Whether it says that it joined before the hub has compared the clocks is chance; afterwards it says nothing.
    const admitted = stage.admit(id);
    await eventually(async () =>
      expect(await stage.condition(id, "ManagedClusterConditionClockSynced")).toMatchObject({
        status: "False",
        reason: "ManagedClusterClockOutOfSync",
      }),
    );
    clock.shift = 0;
    await eventually(async () =>
      expect((await stage.condition(id, "ManagedClusterConditionClockSynced"))?.status).toBe("True"),
    );
    await admitted;
    await stage.untilWorking(id);
    await running.stop();
  });
}
