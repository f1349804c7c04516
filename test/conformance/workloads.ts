/** What the parts about workloads share: Pods that run nowhere, and somebody who says that they are ready. */
import { expect } from "vitest";
import type { Deployment, ReplicaSet } from "#api/apps";
import type { Event, Pod } from "#api/core";
import { timestamp } from "#lib/clock";
import { eventually } from "../support/eventually.ts";
import type { Body } from "../support/raw.ts";
import { at, inGroup, type Stage } from "./stage.ts";

/** A place in the API server for the Pods and workloads of one test. */
export class Yard {
  readonly #stage: Stage;
  readonly space: string;

  constructor(stage: Stage, space: string) {
    this.#stage = stage;
    this.space = space;
  }

  get admin() {
    return this.#stage.admin;
  }

  readonly deployments = (name?: string) => inGroup("apps", "v1", "deployments", this.space, name);
  readonly replicaSets = (name?: string) => inGroup("apps", "v1", "replicasets", this.space, name);
  readonly controllers = (name?: string) => at(this.space, "replicationcontrollers", name);
  readonly pods = (name?: string) => at(this.space, "pods", name);

  async deployment(name: string): Promise<Deployment> {
    return this.#read<Deployment>(this.deployments(name));
  }

  async replicaSet(name: string): Promise<ReplicaSet> {
    return this.#read<ReplicaSet>(this.replicaSets(name));
  }

  /** The ReplicaSets with that label `app`, in order of revision. */
  async replicaSetsOf(app: string): Promise<ReplicaSet[]> {
    const sets = await this.#list<ReplicaSet>(`${this.replicaSets()}?labelSelector=app%3D${app}`);
    const revisionOf = ({ metadata }: ReplicaSet) =>
      Number(metadata.annotations?.["deployment.kubernetes.io/revision"] ?? 0);
    return sets.toSorted((a, b) => revisionOf(a) - revisionOf(b));
  }

  /** By image, the wished size of each ReplicaSet with that label `app`. */
  async sizesOf(app: string): Promise<Record<string, number>> {
    const sets = await this.replicaSetsOf(app);
    return Object.fromEntries(sets.map(({ spec }) => [imageOf(spec.template.spec), spec.replicas ?? 0]));
  }

  /** The Pods with that label `app` that nobody has deleted. */
  async podsOf(app: string): Promise<Pod[]> {
    const pods = await this.#list<Pod>(`${this.pods()}?labelSelector=app%3D${app}`);
    return pods.filter(({ metadata }) => !metadata.deletionTimestamp);
  }

  async setReady(pods: readonly Pod[], isReady = true): Promise<void> {
    for (const { metadata } of pods) {
      const status = { phase: "Running", conditions: [readiness(isReady)] };
      await this.admin.patch(`${this.pods(metadata.name)}/status`, { status });
    }
  }

  /** Makes every Pod of healthy images ready, again and again, until what is wished for holds. */
  async readyUntil(app: string, holds: () => Promise<void>, isHealthy = (_image: string) => true): Promise<void> {
    await eventually(async () => {
      const waiting = (await this.podsOf(app)).filter((pod) => isHealthy(imageOf(pod.spec)) && !isReadyPod(pod));
      await this.setReady(waiting);
      await holds();
    });
  }

  /** What was told about an object, as `reason: message`. */
  async toldAbout(name: string): Promise<string[]> {
    const events = await this.#list<Event>(`${at(this.space, "events")}?fieldSelector=involvedObject.name%3D${name}`);
    return events.map(({ reason, message }) => `${reason}: ${message}`);
  }

  async #read<T>(path: string): Promise<T> {
    const { code, body } = await this.admin.get(path);
    expect(code).toBe(200);
    return known<T>(body);
  }

  async #list<T>(path: string): Promise<T[]> {
    const { body } = await this.admin.get(path);
    return known<T[]>(body.items);
  }
}

/** A body whose kind the test knows. */
export function known<T>(body: Body | readonly Body[]): T {
  return body as unknown as T;
}

export function template(app: string, image = "web:1", spec: object = {}) {
  return { metadata: { labels: { app } }, spec: { containers: [{ name: "main", image }], ...spec } };
}

export function imageOf(spec: Pod["spec"]): string {
  return spec.containers[0]?.image ?? "";
}

export function isReadyPod({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
}

function readiness(isReady: boolean) {
  return { type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: timestamp(new Date()) };
}
