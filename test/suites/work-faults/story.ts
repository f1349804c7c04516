/**
 * The life of one work from its creation over a change to its end, told while programs die. In the end everything is as
 * if nobody had died: nothing lost, nothing done twice with effect, nothing left but what was asked for.
 */
import { createHash } from "node:crypto";
import { expect } from "vitest";
import { Job } from "#api/batch";
import { ManagedCluster } from "#api/cluster";
import { ConfigMap, Namespace, Pod } from "#api/core";
import type { DynamicObject, Kind, KubeObject } from "#api/meta";
import { AppliedAnnotation, AppliedManifestWork, ManifestWork } from "#api/work";
import { isNotFound } from "#kube";
import { eventually } from "../../support/eventually.ts";
import { type Gate, type Passage, Turns } from "../../support/gate.ts";
import { conditionOf, configMap } from "../work/stage.ts";
import { Restarted, type WorkFaultStage } from "./stage.ts";

/** A write, where it goes, and what the story is about just then. */
export interface Moment extends Passage {
  readonly where: "hub" | "spoke";
  readonly phase: Phase;
}
export type Phase = "apply" | "edit" | "delete";

/** Somebody dies, once: at the first moment that is so. */
export interface Death {
  readonly name: string;
  readonly of: "agent" | "hub";
  isDue(moment: Moment): boolean;
}

const WORK = "w";
/** Many may die on the way, and who comes after them has to start first. */
const PATIENCE_MS = 300_000;
/** The objects that the work has in each phase. `kept` stays when the work goes. */
const WISHED: Readonly<Record<Exclude<Phase, "delete">, Readonly<Record<string, string>>>> = {
  apply: { a: "1", b: "1", kept: "1", served: "1" },
  edit: { a: "2", c: "1", kept: "1", served: "1" },
};
/** How often each of them is written after it was made: `a` is changed once, and `served` gets its owner by a second write. */
const REWRITTEN: Readonly<Record<string, number>> = { a: 1, b: 0, c: 0, kept: 0, served: 1 };

export class Story {
  readonly id: string;
  readonly #stage: WorkFaultStage;
  readonly #deaths: Set<Death>;
  readonly #gates: Gate[] = [];
  readonly #history: History;
  #agent: Restarted | undefined;
  #phase: Phase = "apply";
  #count = 0;
  #dying: Promise<void> | undefined;

  private constructor(stage: WorkFaultStage, id: string, deaths: readonly Death[]) {
    this.#stage = stage;
    this.id = id;
    this.#deaths = new Set(deaths);
    this.#history = new History(stage, this.namespace);
  }

  static async begin(stage: WorkFaultStage, id: string, deaths: readonly Death[]): Promise<Story> {
    const story = new Story(stage, id, deaths);
    const { hub, spoke } = stage;
    await hub.client.create(Namespace, { metadata: { name: id } });
    await hub.client.create(ManagedCluster, { metadata: { name: id }, spec: { hubAcceptsClient: true } });
    await spoke.client.create(Namespace, { metadata: { name: story.namespace } });
    await spoke.client.create(ConfigMap, { metadata: { name: "stranger", namespace: story.namespace } });
    await story.#history.begin();
    const turns = new Turns();
    const ways = await Promise.all(
      (["hub", "spoke"] as const).map((where) =>
        stage.way(id, where, (passage) => story.#judge(where, passage), turns),
      ),
    );
    story.#gates.push(...ways.map(({ gate }) => gate));
    const [toHub = "", toSpoke = ""] = ways.map(({ kubeconfig }) => kubeconfig);
    const words = ["agent", "work", "--hub-kubeconfig", toHub, "--spoke-kubeconfig", toSpoke, "--cluster-name", id];
    story.#agent = new Restarted(...words);
    return story;
  }

  get namespace(): string {
    return `on-${this.id}`;
  }

  /** How many writes came through. */
  get writes(): number {
    return this.#count;
  }

  async #judge(where: Moment["where"], passage: Passage): Promise<boolean> {
    if (passage.when === "after") this.#count++;
    const moment = { where, phase: this.#phase, ...passage };
    const due = [...this.#deaths].find((death) => death.isDue(moment));
    if (!due) return false;
    this.#deaths.delete(due);
    this.#dying = this.#die(due.of);
    await this.#dying;
    return true;
  }

  async #die(who: Death["of"]): Promise<void> {
    if (who === "hub") return this.#stage.hub.crash();
    await this.#agent?.kill();
    for (const gate of this.#gates) gate.drop();
  }

  /** From the first wish to the last look. */
  async tell(): Promise<void> {
    try {
      await this.#stage.hub.client.create(ManifestWork, {
        metadata: { name: WORK, namespace: this.id },
        spec: {
          workload: { manifests: this.#manifests("apply") },
          manifestConfigs: [
            {
              resourceIdentifier: { resource: "configmaps", namespace: this.namespace, name: "served" },
              updateStrategy: { type: "ServerSideApply" },
            },
          ],
          deleteOption: {
            propagationPolicy: "SelectivelyOrphan",
            selectivelyOrphans: {
              orphaningRules: [{ group: "", resource: "configmaps", namespace: this.namespace, name: "kept" }],
            },
          },
        },
      });
      await this.#untilAsWished("apply");
      this.#phase = "edit";
      const change = { spec: { workload: { manifests: this.#manifests("edit") } } };
      // The hub itself may be down just now.
      await eventually(() => this.#stage.hub.client.patch(ManifestWork, this.#key, change, { type: "merge" }));
      await this.#untilAsWished("edit");
      this.#phase = "delete";
      await eventually(() => this.#stage.hub.client.delete(ManifestWork, this.#key).catch(unlessGone));
      await this.#untilGone();
      expect([...this.#deaths].map(({ name }) => name)).toEqual([]);
      this.#history.expectNothingTwice();
    } catch (error) {
      throw new Error(`${this.id}: ${(error as Error).message}\nIts agent said:\n${this.#agent?.said()}`, {
        cause: error,
      });
    }
  }

  async end(): Promise<void> {
    // The last write may have been seen before who dies of it is dead; whoever comes next needs them back.
    await this.#dying;
    await this.#agent?.stop();
    await Promise.all(this.#gates.map((gate) => gate.close()));
    this.#history.end();
  }

  get #key(): string {
    return `${this.id}/${WORK}`;
  }

  #manifests(phase: Exclude<Phase, "delete">): DynamicObject[] {
    const maps = Object.entries(WISHED[phase]).map(([name, k]) => configMap(this.namespace, name, { k }));
    return [...maps, jobIn(this.namespace)];
  }

  async #untilAsWished(phase: Exclude<Phase, "delete">): Promise<void> {
    await eventually(async () => {
      const work = await this.#stage.hub.client.get(ManifestWork, this.#key);
      for (const type of ["Applied", "Available"]) {
        expect(conditionOf(work, type)).toMatchObject({
          status: "True",
          observedGeneration: work.metadata.generation,
        });
      }
      const names = Object.keys(WISHED[phase]);
      expect(work.status?.resourceStatus?.manifests?.map(({ resourceMeta }) => resourceMeta.name)).toEqual([
        ...names,
        "once",
      ]);
      expect(await this.#maps()).toEqual({ ...WISHED[phase], stranger: undefined });
      const [record] = await this.#records();
      expect(record?.status?.appliedResources?.map(({ name }) => name).sort()).toEqual([...names, "once"].sort());
      expect(record?.status?.appliedResources?.every(({ uid }) => uid)).toBe(true);
      // It is written beside the report, and may come after it.
      const seen = JSON.parse(record?.metadata.annotations?.[AppliedAnnotation.seen] ?? "{}");
      expect(seen.generation).toBe(work.metadata.generation);
    }, PATIENCE_MS);
  }

  async #untilGone(): Promise<void> {
    const { hub, spoke } = this.#stage;
    await eventually(async () => {
      const isThere = await hub.client.get(ManifestWork, this.#key).then(() => true, unlessGone);
      if (isThere) throw new Error("the work is still there");
    }, PATIENCE_MS);
    expect(await this.#maps()).toEqual({ kept: "1", stranger: undefined });
    expect(await this.#records()).toEqual([]);
    expect((await spoke.client.list(Job, { namespace: this.namespace })).items).toEqual([]);
    await eventually(async () =>
      expect((await spoke.client.list(Pod, { namespace: this.namespace })).items).toEqual([]),
    );
  }

  /** What every ConfigMap says; what the cluster itself puts into namespaces aside. */
  async #maps(): Promise<Record<string, string | undefined>> {
    const { items } = await this.#stage.spoke.client.list(ConfigMap, { namespace: this.namespace });
    const own = items.filter(({ metadata }) => metadata.name !== "kube-root-ca.crt");
    return Object.fromEntries(own.map(({ metadata, data }) => [metadata.name, data?.k]));
  }

  async #records(): Promise<AppliedManifestWork[]> {
    const { items } = await this.#stage.spoke.client.list(AppliedManifestWork);
    const [toHub] = this.#gates;
    const hash = createHash("sha256")
      .update(toHub?.url ?? "")
      .digest("hex");
    return items.filter(({ spec }) => spec?.hubHash === hash);
  }
}

function unlessGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

function jobIn(namespace: string): DynamicObject {
  const container = { name: "main", image: "busybox" };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "once", namespace },
    spec: { template: { spec: { restartPolicy: "Never", containers: [container] } } },
  };
}

/** All that became of the objects of a namespace, as a watch tells it. */
class History {
  readonly #stage: WorkFaultStage;
  readonly #namespace: string;
  readonly #over = new AbortController();
  readonly #uids = new Map<string, Set<string | undefined>>();
  readonly #rewritten = new Map<string, number>();

  constructor(stage: WorkFaultStage, namespace: string) {
    this.#stage = stage;
    this.#namespace = namespace;
  }

  async begin(): Promise<void> {
    for (const kind of [ConfigMap, Job] as Kind<KubeObject>[]) {
      const { client } = this.#stage.spoke;
      const { metadata } = await client.list(kind, { namespace: this.#namespace });
      const events = await client.watch(kind, {
        namespace: this.#namespace,
        resourceVersion: metadata.resourceVersion ?? "",
        signal: this.#over.signal,
      });
      this.#follow(events).catch((error: unknown) => {
        if (!this.#over.signal.aborted) throw error;
      });
    }
  }

  end(): void {
    this.#over.abort();
  }

  async #follow(events: AsyncIterable<{ type: string; object: KubeObject }>): Promise<void> {
    for await (const { type, object } of events) {
      const { name, uid } = object.metadata;
      this.#uids.set(name, (this.#uids.get(name) ?? new Set()).add(uid));
      if (type === "MODIFIED") this.#rewritten.set(name, (this.#rewritten.get(name) ?? 0) + 1);
    }
  }

  expectNothingTwice(): void {
    for (const [name, uids] of this.#uids) expect([name, uids.size]).toEqual([name, 1]);
    expect([...this.#uids.keys()]).toEqual(expect.arrayContaining(["once", ...Object.keys(REWRITTEN)]));
    for (const [name, times] of Object.entries(REWRITTEN))
      expect([name, this.#rewritten.get(name) ?? 0]).toEqual([name, times]);
  }
}
