/** Takes a spoke out of its fleet for `capstan unjoin`, and the hub from a cluster for `capstan clean`. */
import { cleanHub, type Removal, type Task, unjoinCluster } from "#app";
import type { CleanFlags } from "../commands/clean.ts";
import type { UnjoinFlags } from "../commands/unjoin.ts";
import { say } from "../terminal.ts";
import { administer, sayDone, showPlan, writePrivately } from "./administration.ts";

export async function runUnjoin(flags: UnjoinFlags): Promise<void> {
  await administer(flags, async (task) => {
    const { clusterName, purgeOperator, force = false } = flags;
    const removal = await unjoinCluster(task, { clusterName, purgeOperator, force });
    if (flags.outputFile !== undefined) await writePrivately(flags.outputFile, deletedText(removal));
    if (!show(task, removal, `${task.client.server} is out of the fleet`)) return;
    say(`The hub still knows ${clusterName}; forget it there with: kubectl delete managedcluster ${clusterName}`);
  });
}

export async function runClean(flags: CleanFlags): Promise<void> {
  await administer(flags, async (task) => {
    const { name, purgeOperator, force = false } = flags;
    const removal = await cleanHub(task, { name, purgeOperator, force });
    if (!show(task, removal, `${task.client.server} is no hub any more`)) return;
    say("The CustomResourceDefinitions of the inventory stay on purpose, with whatever others have in them.");
  });
}

/** False for a dry run. */
function show(task: Task, { changes, remarks }: Removal, sentence: string): boolean {
  if (task.dryRun) showPlan(changes);
  else sayDone(sentence, changes);
  for (const remark of remarks) say(remark);
  return !task.dryRun;
}

function deletedText({ changes }: Removal): string {
  return changes.map(({ what }) => `${what}\n`).join("");
}
