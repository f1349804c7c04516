/** DaemonSets: a Pod for every node that should have one, and how they are replaced. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControllerRevision, DaemonSet } from "#api/apps";
import type { Pod, Taint } from "#api/core";
import { timestamp } from "#lib/clock";
import { eventually } from "../support/eventually.ts";
import { inGroup, refusal, refused, type Staged } from "./stage.ts";
import { imageOf, known, template, Yard } from "./workloads.ts";

const NODES = "/api/v1/nodes";

export function daemonSetsSuite(stage: Staged): void {
  let yard: Yard;
  const made: string[] = [];
  beforeAll(async () => {
    yard = new Yard(stage(), await stage().namespace());
  });
  afterAll(async () => {
    for (const name of made) await stage().admin.delete(`${NODES}/${name}`);
  });

  const sets = (name?: string) => inGroup("apps", "v1", "daemonsets", yard.space, name);
  /** Nodes that only one case cares for: they carry its name as a label. */
  const node = async (name: string, app: string, taints: Taint[] = []) => {
    const wanted = `${yard.space}-${name}`;
    const { code } = await yard.admin.post(NODES, { metadata: { name: wanted, labels: { "suite-for": app } } });
    expect(code).toBe(201);
    made.push(wanted);
    const now = timestamp(new Date());
    const ready = { type: "Ready", status: "True", lastHeartbeatTime: now, lastTransitionTime: now, reason: "Suite" };
    await yard.admin.patch(`${NODES}/${wanted}/status`, { status: { conditions: [ready] } });
    await yard.admin.patch(`${NODES}/${wanted}`, { spec: { taints } });
    return wanted;
  };
  const daemons = (app: string, image = "web:1", spec: object = {}) =>
    template(app, image, { nodeSelector: { "suite-for": app }, ...spec });
  const wish = (name: string, spec: object = {}) => ({
    metadata: { name, annotations: { note: "x" } },
    spec: { selector: { matchLabels: { app: name } }, template: daemons(name), ...spec },
  });
  const created = async (name: string, spec: object = {}) => {
    const { code, body } = await yard.admin.post(sets(), wish(name, spec));
    expect(code).toBe(201);
    return known<DaemonSet>(body);
  };
  const change = async (name: string, spec: object) =>
    expect((await yard.admin.patch(sets(name), { spec })).code).toBe(200);
  const statusOf = async (name: string) => known<DaemonSet>((await yard.admin.get(sets(name))).body).status;
  const placeOf = ({ spec }: Pod) =>
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms[0]?.matchFields?.[0]
      ?.values?.[0] ?? "";
  const places = async (name: string) => (await yard.podsOf(name)).map(placeOf).toSorted();
  const images = async (name: string) => (await yard.podsOf(name)).map(({ spec }) => imageOf(spec)).toSorted();
  const hasPlaces = (name: string, ...nodes: string[]) =>
    eventually(async () => expect(await places(name)).toEqual(nodes.toSorted()));
  /**
   * When a node changes, kube-controller-manager overlooks Pods that nobody bound yet, until something else makes it
   * look at their set.
   */
  const looksAgain = (name: string, seen: () => Promise<void>) => {
    let looks = 0;
    return eventually(async () => {
      await change(name, { minReadySeconds: ++looks });
      await seen();
    });
  };
  const started = async (name: string, count: number, spec: object = {}) => {
    await created(name, spec);
    await yard.readyUntil(name, async () =>
      expect(await statusOf(name)).toMatchObject({ numberReady: count, numberAvailable: count }),
    );
  };
  const revisionsOf = async (name: string) => {
    const path = `${inGroup("apps", "v1", "controllerrevisions", yard.space)}?labelSelector=app%3D${name}`;
    const revisions = known<ControllerRevision[]>((await yard.admin.get(path)).body.items);
    return revisions.toSorted((a, b) => a.revision - b.revision);
  };

  describe("where the Pods of a DaemonSet are", () => {
    it("daemonsets.pods: are made for one node each, and tolerate its troubles", async () => {
      const target = await node("pods", "pinned");
      const { metadata } = await created("pinned");
      await hasPlaces("pinned", target);
      const [pod] = await yard.podsOf("pinned");
      const [revision] = await revisionsOf("pinned");
      expect(pod?.metadata).toMatchObject({
        generateName: "pinned-",
        labels: {
          app: "pinned",
          "controller-revision-hash": revision?.metadata.labels?.["controller-revision-hash"],
          "pod-template-generation": "1",
        },
        ownerReferences: [
          {
            apiVersion: "apps/v1",
            kind: "DaemonSet",
            name: "pinned",
            uid: metadata.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      });
      expect(pod?.spec.affinity).toEqual({
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [target] }] }],
          },
        },
      });
      const tolerated = (key: string, effect: string) => ({
        key: `node.kubernetes.io/${key}`,
        operator: "Exists",
        effect,
      });
      expect(pod?.spec.tolerations).toEqual([
        tolerated("not-ready", "NoExecute"),
        tolerated("unreachable", "NoExecute"),
        tolerated("disk-pressure", "NoSchedule"),
        tolerated("memory-pressure", "NoSchedule"),
        tolerated("pid-pressure", "NoSchedule"),
        tolerated("unschedulable", "NoSchedule"),
      ]);
      await eventually(async () =>
        expect(await yard.toldAbout("pinned")).toEqual([`SuccessfulCreate: Created pod: ${pod?.metadata.name}`]),
      );
    });

    it("daemonsets.nodes: follow nodes that come, fit no more, or go", async () => {
      const first = await node("nodes-1", "following");
      await created("following");
      await hasPlaces("following", first);
      const second = await node("nodes-2", "following");
      await hasPlaces("following", first, second);
      await yard.admin.patch(`${NODES}/${first}`, { metadata: { labels: { "suite-for": null } } });
      await looksAgain("following", async () => expect(await places("following")).toEqual([second]));
      await eventually(async () => expect(await statusOf("following")).toMatchObject({ desiredNumberScheduled: 1 }));
    });

    it("daemonsets.taints: stay where only newcomers are repelled, and leave where they are driven out", async () => {
      const target = await node("taints", "repelled");
      const repelling = await node("taints-2", "repelled", [{ key: "own", effect: "NoSchedule" }]);
      await created("repelled");
      await hasPlaces("repelled", target);
      await yard.admin.patch(`${NODES}/${target}`, { spec: { taints: [{ key: "own", effect: "NoSchedule" }] } });
      await looksAgain("repelled", async () =>
        expect(await statusOf("repelled")).toMatchObject({ desiredNumberScheduled: 0, numberMisscheduled: 1 }),
      );
      expect(await places("repelled")).toEqual([target]);
      await yard.admin.patch(`${NODES}/${target}`, { spec: { taints: [{ key: "own", effect: "NoExecute" }] } });
      await looksAgain("repelled", async () => expect(await places("repelled")).toEqual([]));
      await change("repelled", { template: daemons("repelled", "web:1", { tolerations: [{ operator: "Exists" }] }) });
      await hasPlaces("repelled", target, repelling);
    });

    it("daemonsets.failed: are replaced when they have failed, which is told", async () => {
      const target = await node("failed", "failing");
      await started("failing", 1);
      const [before] = await yard.podsOf("failing");
      await yard.admin.patch(`${yard.pods(before?.metadata.name)}/status`, { status: { phase: "Failed" } });
      await eventually(async () => {
        const [after] = await yard.podsOf("failing");
        expect(after?.metadata.uid ?? before?.metadata.uid).not.toBe(before?.metadata.uid);
        expect(await yard.toldAbout("failing")).toContain(
          `FailedDaemonPod: Found failed daemon pod ${yard.space}/${before?.metadata.name} on node ${target}, will try to kill it`,
        );
      });
    });
  });

  it("daemonsets.status: counts nodes and the Pods on them", async () => {
    await node("status-1", "counting");
    await node("status-2", "counting");
    await created("counting");
    await eventually(async () =>
      expect(await statusOf("counting")).toEqual({
        currentNumberScheduled: 2,
        numberMisscheduled: 0,
        desiredNumberScheduled: 2,
        numberReady: 0,
        observedGeneration: 1,
        updatedNumberScheduled: 2,
        numberUnavailable: 2,
      }),
    );
    await yard.setReady(await yard.podsOf("counting"));
    await eventually(async () =>
      expect(await statusOf("counting")).toEqual({
        currentNumberScheduled: 2,
        numberMisscheduled: 0,
        desiredNumberScheduled: 2,
        numberReady: 2,
        observedGeneration: 1,
        updatedNumberScheduled: 2,
        numberAvailable: 2,
      }),
    );
  });

  describe("an update of a DaemonSet", () => {
    it("daemonsets.rolling-update: replaces one Pod at a time", async () => {
      for (const name of ["rolling-1", "rolling-2"]) await node(name, "rolling");
      await started("rolling", 2);
      await change("rolling", { template: daemons("rolling", "web:2") });
      await eventually(async () => {
        expect(await images("rolling")).toEqual(["web:1", "web:2"]);
        expect(await statusOf("rolling")).toMatchObject({ updatedNumberScheduled: 1, numberUnavailable: 1 });
      });
      await yard.readyUntil("rolling", async () => {
        expect(await images("rolling")).toEqual(["web:2", "web:2"]);
        expect(await statusOf("rolling")).toMatchObject({ updatedNumberScheduled: 2, numberAvailable: 2 });
      });
    });

    it("daemonsets.surge: starts the new Pod beside the old one where Pods may surge", async () => {
      for (const name of ["surging-1", "surging-2"]) await node(name, "surging");
      const rollingUpdate = { maxUnavailable: 0, maxSurge: 1 };
      await started("surging", 2, { updateStrategy: { type: "RollingUpdate", rollingUpdate } });
      await change("surging", { template: daemons("surging", "web:2") });
      await eventually(async () => expect(await images("surging")).toEqual(["web:1", "web:1", "web:2"]));
      await yard.readyUntil("surging", async () => expect(await images("surging")).toEqual(["web:2", "web:2"]));
    });

    it("daemonsets.on-delete: waits for somebody to delete Pods where that is wished", async () => {
      await node("manual", "manual");
      await started("manual", 1, { updateStrategy: { type: "OnDelete" } });
      await change("manual", { template: daemons("manual", "web:2") });
      await eventually(async () =>
        expect(await statusOf("manual")).toMatchObject({ observedGeneration: 2, numberAvailable: 1 }),
      );
      expect(await images("manual")).toEqual(["web:1"]);
      const [pod] = await yard.podsOf("manual");
      await yard.admin.delete(yard.pods(pod?.metadata.name));
      await eventually(async () => expect(await images("manual")).toEqual(["web:2"]));
    });

    it("daemonsets.revisions: remembers templates, and goes back to one without making it anew", async () => {
      await node("undone", "undone");
      await started("undone", 1);
      const [first] = await revisionsOf("undone");
      const hash = first?.metadata.name.replace("undone-", "");
      expect(first?.metadata).toMatchObject({
        annotations: { note: "x", "deprecated.daemonset.template.generation": "1" },
        labels: { app: "undone", "controller-revision-hash": hash },
        ownerReferences: [{ kind: "DaemonSet", name: "undone", controller: true }],
      });
      await change("undone", { template: daemons("undone", "web:2") });
      await yard.readyUntil("undone", async () => expect(await images("undone")).toEqual(["web:2"]));
      expect((await revisionsOf("undone")).map(({ revision }) => revision)).toEqual([1, 2]);
      expect((await yard.admin.patch(sets("undone"), first?.data, "strategic")).code).toBe(200);
      await yard.readyUntil("undone", async () => expect(await images("undone")).toEqual(["web:1"]));
      const after = await revisionsOf("undone");
      expect(after.map(({ revision }) => revision)).toEqual([2, 3]);
      expect(after.at(-1)?.metadata.name).toBe(first?.metadata.name);
      const [pod] = await yard.podsOf("undone");
      expect(pod?.metadata.labels).toMatchObject({ "controller-revision-hash": hash, "pod-template-generation": "3" });
    });
  });

  it.each([
    [
      "surge and loss at once",
      { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
      "spec.updateStrategy.rollingUpdate.maxSurge FieldValueInvalid",
    ],
    [
      "neither surge nor loss",
      { type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } },
      "spec.updateStrategy.rollingUpdate.maxUnavailable FieldValueRequired",
    ],
    ["a strategy nobody knows", { type: "Odd" }, "spec.updateStrategy FieldValueNotSupported"],
  ])("daemonsets.refusals: refuses %s", async (_, updateStrategy, cause) => {
    const reply = await yard.admin.post(sets(), wish("refused", { updateStrategy }));
    expect(refusal(reply)).toEqual(refused(422, "Invalid", cause));
  });
}
