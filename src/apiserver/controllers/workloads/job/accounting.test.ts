import { describe, expect, it } from "vitest";
import { JOB_TRACKING_FINALIZER, type Job, type JobSpec } from "#api/batch";
import type { DynamicObject } from "#api/meta";
import { hasFinalizer } from "#lib/meta";
import type { ServerController } from "../../runner.ts";
import type { SystemWriter } from "../../system.ts";
import { type Bed, bed } from "../../testing/bed.ts";
import { isActive, PODS } from "../pods.ts";
import type { Stored } from "../stored.ts";
import { podsIn } from "../testing/pods.ts";
import { jobController } from "./job.controller.ts";

const JOBS = "batch/jobs";
const KEY = "default/work";

/** A writer of a server that is killed after so many writes: from then on nothing comes through. */
function mortal(writer: SystemWriter, writes: number): SystemWriter {
  let left = writes;
  const alive = async <T>(write: () => Promise<T>): Promise<T> => {
    if (left-- <= 0) throw new Error("the server was killed");
    return write();
  };
  return {
    ensure: (...given) => alive(() => writer.ensure(...given)),
    change: (...given) => alive(() => writer.change(...given)),
    create: (...given) => alive(() => writer.create(...given)),
    remove: (...given) => alive(() => writer.remove(...given)),
  };
}

/** Looks again and again until nothing changes, or the server is dead. */
async function drive(cluster: Bed, { reconcile }: ServerController): Promise<void> {
  for (let revision = -1; revision !== cluster.store.revision; ) {
    revision = cluster.store.revision;
    try {
      await reconcile(KEY);
    } catch {
      return;
    }
  }
}

async function started(spec: Partial<JobSpec>): Promise<Bed> {
  const cluster = await bed(() => []);
  await cluster.create(JOBS, {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "work", namespace: "default" },
    spec: {
      template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "work:1" }] } },
      ...spec,
    },
  });
  await drive(cluster, jobController(cluster));
  return cluster;
}

async function endActive(cluster: Bed, phases: readonly ("Succeeded" | "Failed")[]): Promise<void> {
  for (const [index, pod] of podsIn(cluster).filter(isActive).entries()) {
    const ended = (draft: DynamicObject) => ({
      ...draft,
      status: { ...(draft.status as object), phase: phases[index] ?? "Succeeded" },
    });
    await cluster.change(PODS, `default/${pod.metadata.name}`, ended, "status");
  }
}

const statusIn = (cluster: Bed) => (cluster.get(JOBS, KEY) as Stored<Job>).status;

describe("a server that is killed while it counts", () => {
  /** More writes than counting takes, so that the last rows are those of a server that lives. */
  const rows = Array.from({ length: 16 }, (_, writes) => writes);

  it.each(rows)("has counted every Pod once in the end (after %i writes)", async (writes) => {
    const cluster = await started({ parallelism: 4, completions: 4 });
    await endActive(cluster, ["Succeeded", "Failed", "Succeeded", "Failed"]);
    await drive(cluster, jobController({ ...cluster, writer: mortal(cluster.writer, writes) }));
    await drive(cluster, jobController(cluster));
    expect(statusIn(cluster)).toMatchObject({ succeeded: 2, failed: 2, uncountedTerminatedPods: {} });

    // The second time some may vanish as soon as nothing holds them.
    cluster.clock.advance(60_000);
    await drive(cluster, jobController(cluster));
    for (const pod of podsIn(cluster).filter(isActive).slice(0, 1)) await cluster.writer.remove(PODS, pod);
    await endActive(cluster, ["Succeeded"]);
    await drive(cluster, jobController({ ...cluster, writer: mortal(cluster.writer, writes) }));
    await drive(cluster, jobController(cluster));
    expect(statusIn(cluster)).toMatchObject({ succeeded: 3, failed: 3, uncountedTerminatedPods: {} });
    expect(podsIn(cluster).filter((pod) => hasFinalizer(pod, JOB_TRACKING_FINALIZER) && !isActive(pod))).toEqual([]);
  });

  it.each(rows)("has ended what was decided (after %i writes)", async (writes) => {
    const cluster = await started({ parallelism: 3, completions: 3, backoffLimit: 0 });
    const [first] = podsIn(cluster);
    await cluster.change(
      PODS,
      `default/${first?.metadata.name}`,
      (draft) => ({ ...draft, status: { ...(draft.status as object), phase: "Failed" } }),
      "status",
    );
    await drive(cluster, jobController({ ...cluster, writer: mortal(cluster.writer, writes) }));
    await drive(cluster, jobController(cluster));
    expect(statusIn(cluster)).toMatchObject({ failed: 3, terminating: 0, uncountedTerminatedPods: {} });
    expect(statusIn(cluster)?.conditions?.map(({ type }) => type)).toEqual(["FailureTarget", "Failed"]);
  });

  it.each(rows)("knows every index (after %i writes)", async (writes) => {
    const cluster = await started({ completionMode: "Indexed", parallelism: 3, completions: 3 });
    await endActive(cluster, ["Succeeded", "Failed", "Succeeded"]);
    await drive(cluster, jobController({ ...cluster, writer: mortal(cluster.writer, writes) }));
    await drive(cluster, jobController(cluster));
    expect(statusIn(cluster)).toMatchObject({ succeeded: 2, completedIndexes: "0,2", failed: 1 });
  });
});
