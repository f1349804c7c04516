/** Services and what stands behind them, for tests of the controllers that say so. */
import type { DynamicObject } from "#api/meta";
import type { Occurrence, ServerController } from "../../runner.ts";
import { type Bed, bed, type Parts } from "../../testing/bed.ts";
import { PODS } from "../../workloads/pods.ts";
import { NODES, SERVICES } from "../selection.ts";

export const labels = { app: "web" };
export const ports = [{ name: "http", port: 80, targetPort: 8080 }];

export interface Ground extends Bed {
  service(name: string, spec: object, metadata?: object): Promise<DynamicObject>;
  node(name: string, labels?: Record<string, string>): Promise<DynamicObject>;
  /** A Pod on the node `n1` with the label that Services here select. */
  pod(name: string, report: PodReport): Promise<void>;
  report(name: string, report: PodReport): Promise<void>;
  /** Lets the controllers under test look at everything again, and answers how many writes that made. */
  lookAgain(): Promise<number>;
}

export interface PodReport {
  readonly ip: string;
  readonly isReady?: boolean;
  readonly node?: string;
  readonly spec?: object;
}

export async function ground(controllers: (parts: Parts) => readonly ServerController[]): Promise<Ground> {
  let running: readonly ServerController[] = [];
  const here = await bed((parts) => {
    running = controllers(parts);
    return running;
  });
  const { create, change, settle, store } = here;
  const report: Ground["report"] = async (name, { ip, isReady = true }) => {
    const conditions = [{ type: "Ready", status: isReady ? "True" : "False" }];
    const status = { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions };
    await change(
      PODS,
      `default/${name}`,
      (draft) => ({ ...draft, status: { ...(draft.status as object), ...status } }),
      "status",
    );
    await settle();
  };
  return {
    ...here,
    report,
    async service(name, spec, metadata = {}) {
      const made = await create(SERVICES, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { namespace: "default", name, ...metadata },
        spec,
      });
      await settle();
      return made;
    },
    async node(name, nodeLabels = {}) {
      const node = { apiVersion: "v1", kind: "Node", metadata: { name, labels: nodeLabels } };
      const made = await create(NODES, node);
      await settle();
      return made;
    },
    async pod(name, { node = "n1", spec = {}, ...told }) {
      await create(PODS, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { namespace: "default", name, labels },
        spec: { nodeName: node, containers: [{ name: "main", image: "app" }], ...spec },
      });
      await report(name, told);
    },
    async lookAgain() {
      const before = store.revision;
      for (const controller of running) {
        const { watches } = controller;
        const events = everything(here).filter(({ resource }) => !watches || watches.includes(resource));
        const keys = events.flatMap((event) => controller.keysOf(event));
        for (const key of new Set(keys)) await controller.reconcile(key);
      }
      await settle();
      return store.revision - before;
    },
  };
}

function everything({ store }: Bed): Occurrence[] {
  return store.resources().flatMap((resource) =>
    store.list(resource).items.map((object) => {
      const { namespace, name } = object.metadata;
      return { type: "ADDED" as const, resource, key: namespace ? `${namespace}/${name}` : name, object };
    }),
  );
}
