import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { clone } from "#lib/json";
import { ApiError, conflict } from "../errors.ts";
import type { KindDependencies } from "./dependencies.ts";
import { eviction } from "./eviction.ts";
import { context } from "./testing/drafts.ts";

const labels = { app: "web" };
const pod = (status: object = {}, metadata: object = {}): DynamicObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { namespace: "default", name: "a", uid: "u-1", resourceVersion: "7", labels, ...metadata },
  status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }], ...status },
});
const budget = (status: object, spec: object = {}): DynamicObject => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { namespace: "default", name: "b", generation: 1 },
  spec: { selector: { matchLabels: labels }, ...spec },
  status: { observedGeneration: 1, ...status },
});

/** A server with one Pod and some budgets, and what was asked of it. */
function server(parent: DynamicObject, ...budgets: DynamicObject[]) {
  const objects = new Map<string, DynamicObject>([
    ["core/pods default/a", parent],
    ...budgets.map((each): [string, DynamicObject] => [
      `policy/poddisruptionbudgets default/${each.metadata.name}`,
      each,
    ]),
  ]);
  const evicted: Record<string, unknown>[] = [];
  const dependencies: Pick<KindDependencies, "lookup" | "list" | "change" | "evict"> = {
    lookup: (storage, key) => objects.get(`${storage} ${key}`),
    list: (storage) => [...objects].filter(([key]) => key.startsWith(`${storage} `)).map(([, object]) => object),
    async change(storage, key, edit, { dryRun }) {
      const draft = clone(objects.get(`${storage} ${key}`) ?? pod());
      edit(draft);
      draft.metadata.resourceVersion = "8";
      if (!dryRun) objects.set(`${storage} ${key}`, draft);
      return draft;
    },
    evict: async (_, options) => void evicted.push(options),
  };
  const ask = async (more: object = {}, dryRun = false) =>
    eviction(dependencies).answer?.({
      parent,
      body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "a" }, ...more },
      context: { ...context, dryRun },
    });
  const refusal = () =>
    ask().then(
      () => undefined,
      (error: unknown) => (error instanceof ApiError ? error.status : undefined),
    );
  return { objects, evicted, ask, refusal, dependencies };
}

describe("evictions", () => {
  it("take one out of the budget, write down for whom, and say on the Pod why it goes", async () => {
    const { ask, objects, evicted } = server(pod(), budget({ disruptionsAllowed: 1, currentHealthy: 2 }));
    expect(await ask()).toMatchObject({ kind: "Status", status: "Success" });
    expect(evicted).toEqual([{}]);
    expect(objects.get("policy/poddisruptionbudgets default/b")?.status).toMatchObject({
      disruptionsAllowed: 0,
      disruptedPods: { a: "2026-01-01T00:00:00Z" },
      conditions: [{ type: "DisruptionAllowed", status: "False", reason: "InsufficientPods" }],
    });
    expect(objects.get("core/pods default/a")?.status).toMatchObject({
      conditions: [{ type: "Ready" }, { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }],
    });
  });

  it("change nothing when they run dry", async () => {
    const { ask, objects, evicted } = server(pod(), budget({ disruptionsAllowed: 1 }));
    await ask({}, true);
    expect(evicted).toEqual([{}]);
    expect(objects.get("policy/poddisruptionbudgets default/b")?.status).toMatchObject({ disruptionsAllowed: 1 });
    expect(objects.get("core/pods default/a")).toEqual(pod());
  });

  const refusals: [why: string, status: object, expected: object][] = [
    [
      "nothing is left",
      { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1 },
      {
        code: 429,
        details: { causes: [{ message: "The disruption budget b needs 1 healthy pods and has 1 currently" }] },
      },
    ],
    [
      "it could not be counted",
      {
        disruptionsAllowed: 0,
        conditions: [{ type: "DisruptionAllowed", status: "False", reason: "SyncFailed", message: "oh" }],
      },
      {
        code: 429,
        details: {
          causes: [
            { message: "The disruption budget b does not allow evicting pods currently because it failed sync: oh" },
          ],
        },
      },
    ],
    [
      "it was not counted yet",
      { observedGeneration: 0, disruptionsAllowed: 5 },
      {
        code: 429,
        details: {
          retryAfterSeconds: 10,
          causes: [{ message: "The disruption budget b is still being processed by the server." }],
        },
      },
    ],
    ["it makes no sense", { disruptionsAllowed: -1 }, { code: 403 }],
    [
      "nobody looks after it",
      {
        disruptionsAllowed: 1,
        disruptedPods: Object.fromEntries(Array.from({ length: 2001 }, (_, index) => [`p${index}`, ""])),
      },
      { code: 403 },
    ],
  ];
  it.each(refusals)("are refused by a budget because %s", async (_, status, expected) => {
    const { refusal, evicted } = server(pod(), budget(status));
    expect(await refusal()).toMatchObject(expected);
    expect(evicted).toEqual([]);
  });

  it("insist that a Pod is still not ready, which they let go for that reason", async () => {
    const waiting = pod({ conditions: [] });
    const { ask, evicted, objects } = server(waiting, budget({ currentHealthy: 1, desiredHealthy: 1 }));
    await ask();
    expect(evicted).toEqual([{ preconditions: { resourceVersion: "8" } }]);
    expect(objects.get("policy/poddisruptionbudgets default/b")?.status).not.toHaveProperty("disruptedPods");
  });

  it("ask to be tried again when such a Pod has changed meanwhile", async () => {
    const waiting = pod({ conditions: [] });
    const { refusal, dependencies } = server(waiting, budget({ currentHealthy: 1, desiredHealthy: 1 }));
    dependencies.evict = async () => {
      throw conflict({ group: "", kind: "Pod", name: "a" }, "it changed");
    };
    expect(await refusal()).toMatchObject({ code: 429, details: { retryAfterSeconds: 10 } });
  });

  it("look again at a Pod that began meanwhile, because it may have become precious", async () => {
    const { ask, dependencies, objects, evicted } = server(
      pod({ phase: "Pending" }),
      budget({ disruptionsAllowed: 1, currentHealthy: 1 }),
    );
    const { evict } = dependencies;
    dependencies.evict = async () => {
      objects.set("core/pods default/a", pod());
      dependencies.evict = evict;
      throw conflict({ group: "", kind: "Pod", name: "a" }, "it changed");
    };
    await ask();
    expect(evicted).toEqual([{}]);
    expect(objects.get("policy/poddisruptionbudgets default/b")?.status).toMatchObject({ disruptionsAllowed: 0 });
  });

  it("do not try again what the client asked for in so many words", async () => {
    const { refusal, ask } = server(pod());
    await expect(ask({ deleteOptions: { preconditions: { uid: "other" } } })).rejects.toThrow("does not match the UID");
    expect(await refusal()).toBeUndefined();
  });
});
