/** Nodes for an API server under test, embedded or real, so that Pods run. */

import { Node, type Taint } from "#api/core";
import { nodeNames, startNodes } from "#app";
import { connectionOf, createClient, type Kubeconfig } from "#kube";
import { systemClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { eventually } from "./eventually.ts";

export interface TestNodes {
  readonly names: readonly string[];
  stop(): Promise<void>;
}

export interface TestNodesOptions {
  readonly count: number;
  /** Only Pods that tolerate it come to these nodes. */
  readonly taint?: Taint;
}

/** Ends when all of them are ready, and Pods may be put on them. */
export async function startTestNodes(
  name: string,
  kubeconfig: Kubeconfig,
  { count, taint }: TestNodesOptions,
): Promise<TestNodes> {
  const client = createClient({ connection: await connectionOf(kubeconfig) });
  const names = nodeNames(`${name}-node`, count);
  const nodes = startNodes({ client, names, version: "0.0.0-test", clock: systemClock, log: silentLog });
  await nodes.registered;
  await eventually(async () => {
    for (const each of names) {
      const { spec, status } = await client.get(Node, each);
      if (findCondition(status?.conditions, "Ready")?.status !== "True") throw new Error(`node ${each} is not ready`);
      if ((spec?.taints ?? []).length > 0) throw new Error(`node ${each} is tainted`);
    }
  });
  if (taint) for (const each of names) await client.patch(Node, each, { spec: { taints: [taint] } });
  return { names, stop: () => nodes.stop() };
}
