import { describe, expect, it } from "vitest";
import type { Pod } from "#api/core";
import { type Bed, bed } from "../testing/bed.ts";
import { PODS } from "../workloads/pods.ts";
import type { Stored } from "../workloads/stored.ts";
import { staleDisruptionController } from "./stale-disruption.controller.ts";

const SINCE = "2026-01-01T00:00:00Z";

async function marked(reason: string, phase = "Running"): Promise<Bed> {
  const here = await bed((parts) => [staleDisruptionController(parts)]);
  const metadata = { namespace: "default", name: "a" };
  const spec = { containers: [{ name: "main", image: "app" }] };
  await here.create(PODS, { apiVersion: "v1", kind: "Pod", metadata, spec });
  const conditions = [{ type: "DisruptionTarget", status: "True", reason, lastTransitionTime: SINCE }];
  await here.change(
    PODS,
    "default/a",
    (draft) => ({ ...draft, status: { ...(draft.status as object), phase, conditions } }),
    "status",
  );
  await here.settle();
  return here;
}

const conditionIn = (here: Bed) => {
  const pod = here.get(PODS, "default/a") as Stored<Pod> | undefined;
  return pod?.status?.conditions?.[0];
};

describe("the mark of a coming disruption", () => {
  it("is taken back from a Pod that is still there, and nothing is written after that", async () => {
    const here = await marked("EvictionByEvictionAPI");
    await here.pass(119_000);
    expect(conditionIn(here)).toMatchObject({ status: "True" });
    await here.pass(2_000);
    expect(conditionIn(here)).toMatchObject({ type: "DisruptionTarget", status: "False" });
    const { revision } = here.store;
    await here.pass(600_000);
    expect(here.store.revision).toBe(revision);
  });

  it.each([
    ["a node set it, which takes its time", "TerminationByKubelet", "Running"],
    ["the Pod has ended", "EvictionByEvictionAPI", "Failed"],
  ])("stays when %s", async (_, reason, phase) => {
    const here = await marked(reason, phase);
    await here.pass(600_000);
    expect(conditionIn(here)).toMatchObject({ status: "True" });
  });
});
