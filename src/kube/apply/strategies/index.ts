/** How an object gets from what there is to what is wished for. */
import type { Strategy } from "../types.ts";
import type { Verdict } from "../verdict.ts";
import { createOnly, readOnly } from "./create-only.ts";
import { isApplied, serverSideApply } from "./server-side.ts";
import type { Stage, Task } from "./types.ts";
import { isUpdated, update } from "./update.ts";

export { noteOf } from "./server-side.ts";
export type { Stage, Task } from "./types.ts";

/** Does what the strategy does; throws what the server throws. */
export async function carryOut(strategy: Strategy, stage: Stage, task: Task): Promise<Verdict> {
  switch (strategy.type) {
    case "ServerSideApply":
      return serverSideApply(stage, task, strategy);
    case "Update":
      return update(stage, task);
    case "CreateOnly":
      return createOnly(stage, task);
    case "ReadOnly":
      return readOnly(task);
  }
}

/** Whether the strategy would leave the object as it is, owners aside; nothing is asked. */
export function isAsWished(strategy: Strategy, stage: Stage, task: Task): boolean {
  switch (strategy.type) {
    case "ServerSideApply":
      return isApplied(stage, task, strategy);
    case "Update":
      return isUpdated(stage, task);
    case "CreateOnly":
      return task.live !== undefined;
    case "ReadOnly":
      return true;
  }
}
