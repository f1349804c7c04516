/** Pods that nobody runs: a case puts them on a node of its own making and says how they are. */
import { afterAll } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Body } from "../support/raw.ts";
import { at, type Staged } from "./stage.ts";

export interface HandmadePods {
  /** A namespace in which Pods can be made. */
  namespace(): Promise<string>;
  /** A Node of a name nobody else has; it goes when the suite ends. */
  node(labels?: Record<string, string>): Promise<string>;
  /** Makes a Pod on a node. */
  pod(space: string, name: string, wish: PodWish): Promise<Body>;
  /** Says of a Pod what a kubelet would. */
  report(space: string, name: string, report: PodReport): Promise<Body>;
}

export interface PodWish {
  readonly node: string;
  readonly labels?: Record<string, string>;
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number; readonly protocol?: string }[];
  readonly spec?: object;
  readonly metadata?: object;
}

export interface PodReport {
  readonly ip?: string;
  readonly isReady?: boolean;
  readonly phase?: string;
  /** When it became ready, or ceased to be. */
  readonly since?: string;
}

export function handmadePods(stage: Staged): HandmadePods {
  const nodes: string[] = [];
  afterAll(async () => {
    for (const name of nodes) await stage().admin.delete(`/api/v1/nodes/${name}`);
  });
  return {
    async namespace() {
      const space = await stage().namespace();
      await eventually(async () => {
        const { code } = await stage().admin.get(at(space, "serviceaccounts", "default"));
        if (code !== 200) throw new Error(`${space} has no service account yet`);
      });
      return space;
    },
    async node(labels = {}) {
      const { body } = await stage().admin.post("/api/v1/nodes", { metadata: { generateName: "handmade-", labels } });
      nodes.push(body.metadata.name);
      return body.metadata.name;
    },
    async pod(space, name, { node, labels = {}, ports = [], spec = {}, metadata = {} }) {
      const { code, body } = await stage().admin.post(at(space, "pods"), {
        metadata: { name, labels, ...metadata },
        spec: { nodeName: node, containers: [{ name: "main", image: "registry.example/app:1", ports }], ...spec },
      });
      if (code !== 201) throw new Error(`Pod ${space}/${name} was refused: ${body.message}`);
      return body;
    },
    async report(space, name, { ip, isReady = true, phase = "Running", since }) {
      const { code, body } = await stage().admin.patch(`${at(space, "pods", name)}/status`, {
        status: {
          phase,
          ...(ip !== undefined && { podIP: ip, podIPs: [{ ip }] }),
          conditions: [
            {
              type: "Ready",
              status: isReady ? "True" : "False",
              ...(since !== undefined && { lastTransitionTime: since }),
            },
          ],
        },
      });
      if (code !== 200) throw new Error(`the status of Pod ${space}/${name} was refused: ${body.message}`);
      return body;
    },
  };
}
