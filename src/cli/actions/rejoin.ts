/** Restores the identity of a cluster for `capstan rejoin`. */
import { rejoinCluster, UserError } from "#app";
import { createClient } from "#kube";
import type { RejoinFlags } from "../commands/rejoin.ts";
import { targetOf } from "../target.ts";
import type { TargetFlags } from "../target-options.ts";
import { say } from "../terminal.ts";
import { administer, explained, sayDone, showPlan } from "./administration.ts";
import { readText } from "./init.ts";

export async function runRejoin(flags: RejoinFlags): Promise<void> {
  const { clusterName, hubApiserver: hubServer, caFile, bootstrapKubeconfig: bootstrapFile, wait } = flags;
  const ca = caFile === undefined ? undefined : await readText(caFile, "--ca-file");
  const connection = await targetOf(hubFlags(flags));
  const hub = createClient({ connection });
  try {
    await reachable(hub);
    await administer(flags, async (task) => {
      const { changes, remarks, ...done } = await rejoinCluster(task, {
        hub: { client: hub, connection },
        ...(clusterName !== undefined && { clusterName }),
        ...(hubServer !== undefined && { hubServer }),
        ...(ca !== undefined && { ca }),
        ...(bootstrapFile !== undefined && { bootstrapFile }),
        wait,
      });
      for (const remark of remarks) say(remark);
      if (task.dryRun) return showPlan(changes);
      for (const { what, note } of changes) say(`${what}: ${note ?? "as it was"}`);
      sayDone(
        wait
          ? `${done.clusterName} is back and available`
          : `${done.clusterName} has what it asks the hub with; approve it with \`capstan accept --clusters ${done.clusterName}\` on the hub`,
      );
    });
  } finally {
    hub.close();
  }
}

/** The hub's own flags; what they do not say is said for the spoke. */
function hubFlags({ hubContext, hubKubeconfig, kubeconfig, dir }: RejoinFlags): TargetFlags {
  return {
    ...(hubContext !== undefined && { context: hubContext }),
    ...(hubKubeconfig !== undefined ? { kubeconfig: hubKubeconfig } : kubeconfig !== undefined && { kubeconfig }),
    ...(hubKubeconfig === undefined && dir !== undefined && { dir }),
  };
}

/** What is wrong with the hub should not be said of the spoke. */
async function reachable(hub: ReturnType<typeof createClient>): Promise<void> {
  try {
    await hub.raw("/version");
  } catch (error) {
    const said = explained(error, hub.server);
    throw said instanceof UserError
      ? new UserError(said.message.replace("--context or --kubeconfig", "--hub-context or --hub-kubeconfig"))
      : said;
  }
}
