/** One cluster of the stage and its works, without a story. */
import { expect } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { ConfigMap, Namespace } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { AppliedManifestWork, ManifestWork } from "#api/work";
import { isNotFound } from "#kube";
import { eventually } from "../../support/eventually.ts";
import { conditionOf, configMap } from "../work/stage.ts";
import { Restarted, type WorkFaultStage } from "./stage.ts";

export class Place {
  readonly #stage: WorkFaultStage;
  readonly cluster: string;

  constructor(stage: WorkFaultStage, cluster: string) {
    this.#stage = stage;
    this.cluster = cluster;
  }

  get namespace(): string {
    return `on-${this.cluster}`;
  }

  /** Where nobody runs the hub's controllers. */
  async prepare(): Promise<void> {
    await this.#stage.hub.client.create(Namespace, { metadata: { name: this.cluster } });
    await this.accept();
  }

  async accept(): Promise<void> {
    const { hub, spoke } = this.#stage;
    await hub.client.create(ManagedCluster, { metadata: { name: this.cluster }, spec: { hubAcceptsClient: true } });
    await spoke.client.create(Namespace, { metadata: { name: this.namespace } });
  }

  /** Its work agent, as a program that may die. */
  async serve(...words: string[]): Promise<Restarted> {
    const [toHub, toSpoke] = await Promise.all(
      (["hub", "spoke"] as const).map((where) => this.#stage.way(this.cluster, where, () => false)),
    );
    const ways = ["--hub-kubeconfig", toHub?.kubeconfig ?? "", "--spoke-kubeconfig", toSpoke?.kubeconfig ?? ""];
    return new Restarted("agent", "work", "--cluster-name", this.cluster, ...ways, ...words);
  }

  map(name: string, k = "1"): DynamicObject {
    return configMap(this.namespace, name, { k });
  }

  async wish(name: string, ...manifests: DynamicObject[]): Promise<void> {
    const { client } = this.#stage.hub;
    const [key, spec] = [`${this.cluster}/${name}`, { workload: { manifests } }];
    try {
      await client.patch(ManifestWork, key, { spec }, { type: "merge" });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await client.create(ManifestWork, { metadata: { name, namespace: this.cluster }, spec });
    }
  }

  delete(name: string): Promise<unknown> {
    return this.#stage.hub.client.delete(ManifestWork, `${this.cluster}/${name}`);
  }

  /** Makes a work vanish as no user can: the agent's finalizer is overruled. */
  async forget(name: string): Promise<void> {
    const key = `${this.cluster}/${name}`;
    await this.#stage.hub.client.patch(ManifestWork, key, { metadata: { finalizers: null } });
    await this.delete(name);
  }

  async untilReported(...names: string[]): Promise<void> {
    for (const name of names) {
      await eventually(async () => {
        const work = await this.#stage.hub.client.get(ManifestWork, `${this.cluster}/${name}`);
        const generation = work.metadata.generation;
        expect(conditionOf(work, "Applied")).toMatchObject({ status: "True", observedGeneration: generation });
      });
    }
  }

  async maps(): Promise<Record<string, string | undefined>> {
    const { items } = await this.#stage.spoke.client.list(ConfigMap, { namespace: this.namespace });
    const own = items.filter(({ metadata }) => metadata.name !== "kube-root-ca.crt");
    return Object.fromEntries(own.map(({ metadata, data }) => [metadata.name, data?.k]));
  }

  uidOf(name: string): Promise<string | undefined> {
    return this.#stage.spoke.client.get(ConfigMap, `${this.namespace}/${name}`).then(({ metadata }) => metadata.uid);
  }

  async record(work: string): Promise<AppliedManifestWork> {
    const { items } = await this.#stage.spoke.client.list(AppliedManifestWork);
    const own = items.filter(({ metadata, spec }) => spec?.manifestWorkName === work && metadata.name.endsWith(work));
    const [found] = own;
    if (!found || own.length > 1) throw new Error(`there are ${own.length} AppliedManifestWorks of ${work}`);
    return found;
  }
}
