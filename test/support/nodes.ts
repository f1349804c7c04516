/** Nodes for an API server under test, embedded or real, so that Pods run. */

import { Node, type Taint } from "#api/core";
import { nodeNames, type OwnPrograms, startNodes } from "#app";
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
  /** Which image is really run, and by what; without it all of them are simulated. */
  readonly own?: Required<Pick<OwnPrograms, "image" | "run">>;
}

/** Ends when all of them are ready, and Pods may be put on them. */
export async function startTestNodes(
  name: string,
  kubeconfig: Kubeconfig,
  { count, taint, own: programs }: TestNodesOptions,
): Promise<TestNodes> {
  const connection = await connectionOf(kubeconfig);
  const client = createClient({ connection });
  const names = nodeNames(`${name}-node`, count);
  const { server: url, ca } = connection;
  const own = programs && { ...programs, server: { url, ...(ca !== undefined && { ca }) } };
  const version = "0.0.0-test";
  const nodes = startNodes({ client, names, version, clock: systemClock, log: silentLog, ...(own && { own }) });
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
