/** A plan says what an apply then does, and does nothing itself. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import {
  type ApplyReport,
  type ApplyStrategy,
  configMapSet,
  KubeError,
  nameOf,
  type ObjectSet,
  statusError,
} from "#kube";
import { configMap, definition, deployment, namespace, secret, widget, wishes } from "./objects.ts";
import { type ApplyStage, deedsIn, interfered, reasonsIn, writesIn } from "./stage.ts";

/** What came before the plan, for one object. */
const HISTORIES = [
  "absent",
  "ours",
  "ours, older",
  "theirs, same",
  "theirs, other value",
  "drifted",
  "extended",
] as const;
const STRATEGIES: readonly ApplyStrategy[] = [
  { type: "ServerSideApply" },
  { type: "ServerSideApply", force: true },
  { type: "Update" },
  { type: "CreateOnly" },
  { type: "ReadOnly" },
];

export function planCases(stage: () => ApplyStage): void {
  describe("a plan", () => {
    it("writes nothing, and masks what is secret", async () => {
      const ns = await stage().namespace();
      await stage()
        .engine()
        .apply({ wishes: wishes(secret(ns, "s", { password: "hunter2" })) });
      const set = { wishes: wishes(secret(ns, "s", { password: "hunter3" }), deployment(ns, "web")) };
      let report: ApplyReport | undefined;
      const requests = await stage().requestsOf(async (client) => {
        report = await stage().engine({ client }).plan(set);
      });
      expect(writesIn(requests)).toEqual([]);
      expect(report && deedsIn(report)).toEqual([`updated Secret ${ns}/s`, `created Deployment ${ns}/web`]);
      expect(report?.objects[0]?.changes).toEqual([
        { path: ".data.password", before: "*** (before)", after: "*** (after)" },
      ]);
      const shown = JSON.stringify(report?.objects.map(({ live: _, ...rest }) => rest));
      for (const text of ["hunter2", "hunter3"]) {
        expect(shown).not.toContain(text);
        expect(shown).not.toContain(Buffer.from(text).toString("base64"));
      }
    });

    it("foretells what cannot be tried, because the set itself brings what it stands on", async () => {
      const group = "planned.example.com";
      const set = {
        wishes: wishes(
          namespace("planned"),
          configMap("planned", "a"),
          definition(group),
          widget(group, "planned", "w"),
        ),
      };
      const { objects, complete } = await stage().engine().plan(set);
      expect(objects.map(({ action, checked }) => [action, checked])).toEqual([
        ["created", true],
        ["created", false],
        ["created", true],
        ["created", false],
      ]);
      expect(complete).toBe(true);
    });

    it("refuses what the server would refuse", async () => {
      const ns = await stage().namespace();
      const set = { wishes: wishes(configMap(ns, "a", { "not a key": "x" }), configMap("nowhere-at-all", "b")) };
      expect(reasonsIn(await stage().engine().plan(set))).toEqual({
        [`ConfigMap ${ns}/a`]: "refused: Invalid",
        "ConfigMap nowhere-at-all/b": "waiting: NamespaceMissing",
      });
    });

    it("goes on where a webhook cannot be asked", async () => {
      const ns = await stage().namespace();
      const message = 'admission webhook "x.example.com" does not support dry run';
      const client = interfered(stage().client, ({ verb, key }) => {
        if (verb !== "patch" || key !== `${ns}/a`) return;
        throw statusError({ apiVersion: "v1", kind: "Status", metadata: {}, status: "Failure", code: 400, message });
      });
      const { objects } = await stage()
        .engine({ client })
        .plan({ wishes: wishes(configMap(ns, "a")) });
      expect(objects[0]).toMatchObject({ action: "created", checked: false });
    });

    it("is what is then done, whatever came before", async () => {
      const history = fc.constantFrom(...HISTORIES);
      const object = fc.record({ history, strategy: fc.constantFrom(...STRATEGIES), secret: fc.boolean() });
      const sets = fc.record({
        objects: fc.array(object, { minLength: 1, maxLength: 6 }),
        left: fc.nat(3),
        prune: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(sets, async (plan) => {
          const ns = await stage().namespace();
          const set = await staged(stage(), ns, plan);
          const planned = told(await stage().engine().plan(set()));
          const done = told(await stage().engine().apply(set()));
          expect(planned).toEqual(done);
          const after = await stage().engine().plan(set());
          expect(after.objects.filter(({ action }) => action === "created" || action === "pruned")).toEqual([]);
        }),
        { numRuns: 15 },
      );
    }, 120_000);
  });

  describe("hindrances that pass", () => {
    const hindered = (times: number, error: () => Error) => {
      let left = times;
      return interfered(stage().client, ({ verb, kind }) => {
        if (verb === "patch" && kind === "ConfigMap" && left-- > 0) throw error();
      });
    };
    const busy = () => statusError({ apiVersion: "v1", kind: "Status", metadata: {}, status: "Failure", code: 503 });

    it.each([
      ["a busy server", busy],
      ["a lost connection", () => new KubeError("lost", "reset")],
    ])("are waited for: %s", async (_, error) => {
      const ns = await stage().namespace();
      const set = { wishes: wishes(configMap(ns, "a")) };
      const patient = stage().engine({ client: hindered(2, error) });
      expect((await patient.apply(set, { patience: 10_000 })).complete).toBe(true);
    });

    it("are told as waiting without patience, and nothing else is held up", async () => {
      const ns = await stage().namespace();
      const engine = stage().engine({ client: hindered(1, busy), atOnce: 1 });
      const report = await engine.apply({ wishes: wishes(configMap(ns, "a"), configMap(ns, "b")) });
      expect(reasonsIn(report)).toEqual({
        [`ConfigMap ${ns}/a`]: "waiting: ServerNotReady",
        [`ConfigMap ${ns}/b`]: "created: Applied",
      });
    });
  });
}

interface Staged {
  readonly objects: readonly {
    readonly history: (typeof HISTORIES)[number];
    readonly strategy: ApplyStrategy;
    readonly secret: boolean;
  }[];
  /** How many have left the set. */
  readonly left: number;
  readonly prune: boolean;
}

/** Brings about what came before, and gives the set as it is wished now. */
async function staged(stage: ApplyStage, ns: string, { objects, left, prune }: Staged): Promise<() => ObjectSet> {
  const make = (index: number, isSecret: boolean, values: Record<string, string>): DynamicObject =>
    isSecret ? secret(ns, `o-${index}`, values) : configMap(ns, `o-${index}`, values);
  const tracking = () => ({
    ...configMapSet({ client: stage.client, name: "set", namespace: ns, version: "1" }),
    prune,
  });
  const departed = Array.from({ length: left }, (_, i) => configMap(ns, `left-${i}`));

  const before = objects.flatMap(({ history, secret: isSecret }, index) => {
    if (history === "absent" || history.startsWith("theirs")) return [];
    return [make(index, isSecret, history === "ours, older" ? { k: "old", gone: "x" } : { k: "v" })];
  });
  await stage.engine().apply({ wishes: wishes(...before, ...departed), tracking: tracking() });
  for (const [index, { history, secret: isSecret }] of objects.entries()) {
    const theirs = stage.engine({ fieldManager: "human" });
    const value = {
      "theirs, same": { k: "v" },
      "theirs, other value": { k: "other" },
      drifted: { k: "drift" },
      extended: { extra: "1" },
    };
    const values = value[history as keyof typeof value];
    if (!values) continue;
    const strategy = { type: "ServerSideApply", force: true } as const;
    await theirs.apply({ wishes: wishes(make(index, isSecret, values)), strategy });
  }
  const wanted = objects.map(({ strategy, secret: isSecret }, index) => ({
    object: make(index, isSecret, { k: "v" }),
    strategy,
  }));
  return () => ({ wishes: wanted, tracking: tracking() });
}

function told({ objects, complete }: ApplyReport) {
  const lines = objects.map(({ id, action, reason, message, changes }) => ({
    object: nameOf(id),
    action,
    reason,
    message,
    changes: action === "updated" ? changes : [],
  }));
  return { lines, complete };
}
