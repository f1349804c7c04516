/** Strategies that leave alone what is there. */
import { ownerChange, withOwners } from "../owners.ts";
import type { Verdict } from "../verdict.ts";
import { type Stage, type Task, writeOptions, writeOwners } from "./types.ts";

/** Creates what is absent; what is there only gets or loses its owner. */
export async function createOnly(stage: Stage, task: Task): Promise<Verdict> {
  const { live, manifest, owner } = task;
  if (!live) {
    const after = await stage.client.create(task.kind, withOwners(manifest, owner), writeOptions(stage));
    return { action: "created", reason: "Applied", message: "", after };
  }
  const owners = ownerChange(live, owner);
  if (!owners) return { action: "skipped", reason: "Exists", message: "it exists, and is only created", after: live };
  const after = await writeOwners(stage, task, live, owners);
  return { action: "updated", reason: "Applied", message: "", after };
}

/** Only looks. */
export function readOnly({ live }: Task): Verdict {
  return {
    action: "skipped",
    reason: "ReadOnly",
    message: live ? "" : "it does not exist",
    ...(live && { after: live }),
  };
}
