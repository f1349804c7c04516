import { describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { AppliedManifestWork, ManifestWork } from "#api/work";
import { type Client, KubeError } from "#kube";
import { CLUSTER, FakeWorkStage } from "../../../../test/support/fake-work.ts";

/**
 * How a write goes wrong: the process ends before it, or it is done and the answer is lost, and the agent goes on. What is
 * between the two, an end right after a write, is the same as one before the next.
 */
type Fault = "ends" | "loses the answer";

interface Life {
  /** The writes of it, by where and what, in their order. */
  readonly points: readonly string[];
  readonly stage: FakeWorkStage;
  /** The objects that every step wanted, and were never disturbed: by name, their uids when they first came. */
  readonly firstUids: ReadonlyMap<string, string | undefined>;
}

const WORKS = ["w1", "w2"];
const NAMES = ["a", "b", "c", "d"];
const STEPS = 4;
const WRITES = ["create", "update", "patch", "delete"] as const;

/** What each work wants after each step; undefined for one that is deleted. It depends on nothing but the seed. */
function script(seed: number): (readonly string[] | undefined)[][] {
  let state = seed * 2_654_435_761 + 1;
  const random = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) % below;
  };
  return Array.from({ length: STEPS }, (_, step) =>
    WORKS.map((work) => {
      const isLast = step === STEPS - 1;
      // The second goes at the end, the first may go before and come again.
      if (isLast && work === "w2") return undefined;
      if (step > 0 && random(4) === 0) return undefined;
      return ["kept", ...NAMES.filter(() => random(2) === 0)].map((name) => `${work}-${name}`);
    }),
  );
}

async function life(seed: number, fault: Fault, at: number): Promise<Life> {
  const stage = new FakeWorkStage();
  const points: string[] = [];
  let isDead = false;
  for (const [where, cluster] of [
    ["hub", stage.hub],
    ["spoke", stage.spoke],
  ] as const) {
    const { client } = cluster;
    for (const verb of WRITES) {
      const write = client[verb].bind(client) as (...args: unknown[]) => Promise<unknown>;
      const faulty = async (...args: unknown[]) => {
        if (isDead) throw new KubeError("aborted", "the process has ended");
        points.push(nameOf(where, verb, args));
        const isDue = points.length === at;
        if (isDue && fault === "ends") {
          isDead = true;
          throw new KubeError("aborted", "the process has ended");
        }
        const answer = await write(...args);
        if (isDue) throw new KubeError("lost", "the connection broke before the answer came");
        return answer;
      };
      (client as unknown as Record<string, unknown>)[verb] = faulty;
    }
  }
  stage.spoke.put(ConfigMap, { metadata: { name: "stranger", namespace: "default" }, data: { of: "somebody" } });
  const firstUids = new Map<string, string | undefined>();
  for (const wishes of script(seed)) {
    for (const [index, objects] of wishes.entries()) wish(stage, WORKS[index] ?? "", objects);
    await stage.start({ mayFail: true });
    await stage.pass(5_000, 1_000);
    await stage.stop();
    isDead = false;
    for (const { metadata } of stage.spoke.readAll(ConfigMap)) {
      if (!firstUids.has(metadata.name)) firstUids.set(metadata.name, metadata.uid);
    }
  }
  await stage.start({ mayFail: true });
  await stage.pass(120_000, 10_000);
  await stage.stop();
  return { points, stage, firstUids };
}

function wish(stage: FakeWorkStage, name: string, objects: readonly string[] | undefined): void {
  const current = stage.hub.read(ManifestWork, `${CLUSTER}/${name}`);
  if (current?.metadata.deletionTimestamp) return; // it goes first
  if (objects) {
    stage.wish(name, objects);
  } else if (current?.metadata.finalizers?.length) {
    const metadata = { ...current.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
    stage.hub.put(ManifestWork, { ...current, metadata });
  } else if (current) {
    stage.forget(name);
  }
}

/** `spoke patch AppliedManifestWork/status` */
function nameOf(where: string, verb: string, args: readonly unknown[]): string {
  const [kind, ...rest] = args as [{ kind: string }, ...unknown[]];
  const options = rest.at(-1) as Parameters<Client["patch"]>[3] | undefined;
  const part = options && typeof options === "object" && "subresource" in options ? `/${options.subresource}` : "";
  return `${where} ${verb} ${kind.kind}${part}`;
}

function expectWhole({ stage, firstUids }: Life, seed: number, what: string): void {
  const works = stage.hub.readAll(ManifestWork);
  const wanted = works.flatMap(({ spec }) => spec?.workload?.manifests?.map(({ metadata }) => metadata.name) ?? []);
  // Nothing lost, and nothing left that nobody asked for.
  expect(stage.maps, what).toEqual([...wanted, "stranger"].sort());
  const records = stage.spoke.readAll(AppliedManifestWork).map(({ spec }) => spec?.manifestWorkName);
  expect(records.sort(), what).toEqual(works.map(({ metadata }) => metadata.name).sort());
  for (const { spec, status } of stage.spoke.readAll(AppliedManifestWork)) {
    const work = works.find(({ metadata }) => metadata.name === spec?.manifestWorkName);
    const objects = (work?.spec?.workload?.manifests ?? []).map(({ metadata }) => metadata.name);
    expect(status?.appliedResources?.map(({ name }) => name).sort(), what).toEqual(objects.sort());
  }
  // Nothing done twice with effect: what every step wanted is still the object that it was at first.
  const steps = script(seed);
  const isAlways = (name: string) => steps.every((wishes) => wishes.some((objects) => objects?.includes(name)));
  for (const { metadata } of stage.spoke.readAll(ConfigMap)) {
    if (isAlways(metadata.name)) expect(metadata.uid, `${what}: ${metadata.name}`).toBe(firstUids.get(metadata.name));
  }
  const gone = steps.at(-1)?.flatMap((objects, index) => (objects ? [] : [WORKS[index]]));
  for (const name of gone ?? [])
    expect(
      works.map(({ metadata }) => metadata.name),
      what,
    ).not.toContain(name);
}

const SEEDS = [1, 2];

describe("an agent whose writes fail", () => {
  it("is met at every kind of write that it makes", async () => {
    const met = new Set<string>();
    for (const seed of SEEDS) for (const point of (await life(seed, "ends", 0)).points) met.add(point);
    expect([...met]).toEqual(
      expect.arrayContaining([
        "hub patch ManifestWork",
        "hub patch ManifestWork/status",
        "spoke create AppliedManifestWork",
        "spoke patch AppliedManifestWork",
        "spoke patch AppliedManifestWork/status",
        "spoke delete AppliedManifestWork",
        "spoke create ConfigMap",
        "spoke delete ConfigMap",
      ]),
    );
  });

  for (const fault of ["ends", "loses the answer"] as const) {
    it.each(SEEDS)(`and ${fault} at any of them leaves nothing lost, doubled or orphaned (seed %i)`, async (seed) => {
      const { points } = await life(seed, fault, 0);
      for (let at = 1; at <= points.length; at++) {
        const lived = await life(seed, fault, at);
        expectWhole(lived, seed, `seed ${seed}, ${fault} at write ${at} (${lived.points[at - 1]})`);
      }
    });
  }
});
