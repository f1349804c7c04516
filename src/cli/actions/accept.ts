/** Lets clusters in for `capstan accept`. */
import { acceptCluster, type Change } from "#app";
import type { AcceptFlags } from "../commands/accept.ts";
import { say } from "../terminal.ts";
import { administer, sayDone, showPlan, targetWords } from "./administration.ts";

export async function runAccept(clusters: readonly string[], flags: AcceptFlags): Promise<void> {
  await administer(flags, async (task) => {
    const plan: Change[] = [];
    for (const cluster of clusters) {
      const changes = await acceptCluster(task, {
        cluster,
        wait: flags.wait ?? false,
        skipApproveCheck: flags.skipApproveCheck ?? false,
        requesters: flags.requesters ?? [],
      });
      plan.push(...changes);
      if (task.dryRun) continue;
      for (const { what, note } of changes) say(`${what}: ${note}`);
      sayDone(`${cluster} is let in`);
    }
    if (task.dryRun) showPlan(plan);
    else say(`See how they fare: capstan get clusters${targetWords(flags)}`);
  });
}
