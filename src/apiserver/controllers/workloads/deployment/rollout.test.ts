import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Pod } from "#api/core";
import type { ServerController } from "../../runner.ts";
import { type Bed, bed as makeBed } from "../../testing/bed.ts";
import { isActive, isAvailable, PODS } from "../pods.ts";
import { replicaSetController } from "../replicas/replicas.controller.ts";
import type { Stored } from "../stored.ts";
import { changed, created, deploymentIn, setsIn } from "../testing/deployments.ts";
import { podsIn, setReady, template } from "../testing/pods.ts";
import { deploymentController } from "./deployment.controller.ts";
import { limitsOf } from "./limits.ts";

/** What people and nodes do to a Deployment. */
type Deed =
  | { readonly do: "template"; readonly image: string }
  | { readonly do: "scale"; readonly replicas: number }
  | { readonly do: "pause"; readonly paused: boolean }
  | { readonly do: "ready"; readonly pod: number; readonly isReady: boolean }
  | { readonly do: "delete"; readonly pod: number }
  | { readonly do: "wait" };

const amount = fc.constantFrom(0, 1, 2, "25%", "50%", "100%");
const limits = fc
  .record({ maxSurge: amount, maxUnavailable: amount })
  .filter(({ maxSurge, maxUnavailable }) => maxSurge !== 0 || maxUnavailable !== 0);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("template"), image: fc.constantFrom("a", "b", "c") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("scale"), replicas: fc.integer({ min: 0, max: 8 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("pause"), paused: fc.boolean() }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("ready"), pod: fc.nat(20), isReady: readinessMostly() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete"), pod: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait") }) },
);

function readinessMostly(): fc.Arbitrary<boolean> {
  return fc.constantFrom(true, true, true, false);
}

const MIN_READY_SECONDS = 5;

describe("every rollout", () => {
  it("stays within its limits by its own doing, and ends when its Pods become ready", async () => {
    const story = fc.record({
      replicas: fc.integer({ min: 0, max: 6 }),
      limits,
      minReadySeconds: fc.constantFrom(0, MIN_READY_SECONDS),
      deeds: fc.array(deed, { maxLength: 25 }),
      pace: fc.array(fc.nat(6), { minLength: 1, maxLength: 10 }),
    });
    await fc.assert(
      fc.asyncProperty(story, async ({ replicas, limits: rollingUpdate, minReadySeconds, deeds, pace }) => {
        const bed = await makeBed((parts) => [deploymentController(parts), paced(replicaSetController(parts), pace)]);
        const watched = watchLimits(bed, minReadySeconds);
        await created(bed, { replicas, minReadySeconds, strategy: { rollingUpdate }, template: template("a") });
        for (const each of deeds) {
          watched.judges = each.do !== "scale" && each.do !== "delete";
          await carryOut(bed, each);
          expect(watched.breaches).toEqual([]);
        }
        watched.judges = true;
        await changed(bed, { paused: false });
        await makeAllReady(bed);
        expect(watched.breaches).toEqual([]);
        expectComplete(bed);
      }),
      { numRuns: 60 },
    );
  });
});

/** Lets a controller dawdle before it works, longer or shorter, so that it finds the world ahead of it. */
function paced(controller: ServerController, pace: readonly number[]): ServerController {
  let turn = 0;
  return {
    ...controller,
    async reconcile(key) {
      for (let left = pace[turn++ % pace.length] ?? 0; left > 0; left--) await new Promise(setImmediate);
      return controller.reconcile(key);
    },
  };
}

async function carryOut(bed: Bed, each: Deed): Promise<void> {
  const chosen = (index: number) => {
    const pods = podsIn(bed).filter(isActive);
    return pods.slice(index % Math.max(1, pods.length)).slice(0, 1);
  };
  if (each.do === "template") await changed(bed, { template: template(each.image) });
  else if (each.do === "scale") await changed(bed, { replicas: each.replicas });
  else if (each.do === "pause") await changed(bed, { paused: each.paused });
  else if (each.do === "ready") await setReady(bed, chosen(each.pod), each.isReady);
  else if (each.do === "wait") await bed.pass(MIN_READY_SECONDS * 1000);
  else for (const pod of chosen(each.pod)) await bed.writer.remove(PODS, pod);
  await bed.settle();
}

/** Follows every Pod that comes or goes, and notes what the controllers should not have done. */
function watchLimits(bed: Bed, minReadySeconds: number) {
  const pods = new Map<string, Pod>();
  const watched = { breaches: [] as string[], judges: true };
  const available = () =>
    [...pods.values()].filter((pod) => isActive(pod) && isAvailable(pod, minReadySeconds, bed.clock.now())).length;
  bed.store.subscribe(({ type, resource, key, object }) => {
    if (resource !== PODS) return;
    const before = available();
    if (type === "DELETED") pods.delete(key);
    else pods.set(key, object as Stored<Pod>);
    const { replicas, maxSurge, maxUnavailable } = limitsOf(deploymentIn(bed));
    if (type === "ADDED" && pods.size > replicas + maxSurge) {
      watched.breaches.push(`${pods.size} Pods where ${replicas}+${maxSurge} are allowed`);
    }
    const least = Math.min(before, replicas - maxUnavailable);
    if (type === "DELETED" && watched.judges && available() < least) {
      watched.breaches.push(`${available()} available Pods where ${replicas}-${maxUnavailable} are needed`);
    }
  });
  return watched;
}

async function makeAllReady(bed: Bed): Promise<void> {
  for (let step = 0; step < 100; step++) {
    const { revision } = bed.store;
    await setReady(
      bed,
      podsIn(bed).filter((pod) => !isAvailable(pod, 0, bed.clock.now())),
    );
    await bed.pass(MIN_READY_SECONDS * 1000);
    if (bed.store.revision === revision) return;
  }
}

function expectComplete(bed: Bed): void {
  const { spec, status, metadata } = deploymentIn(bed);
  const { replicas = 0 } = spec;
  expect(status).toMatchObject({ observedGeneration: metadata.generation });
  expect([status?.replicas ?? 0, status?.updatedReplicas ?? 0, status?.availableReplicas ?? 0]).toEqual([
    replicas,
    replicas,
    replicas,
  ]);
  expect(status?.conditions?.find(({ type }) => type === "Progressing")?.reason).toBe("NewReplicaSetAvailable");
  const image = spec.template.spec.containers[0]?.image;
  for (const set of setsIn(bed)) {
    expect(set.spec.replicas).toBe(set.spec.template.spec.containers[0]?.image === image ? replicas : 0);
  }
  expect(podsIn(bed)).toHaveLength(replicas);
}
