/** Budgets of disruption, and the marks that evictions leave. */
import type { ControllerParts } from "../manager.ts";
import type { ServerController } from "../runner.ts";
import { disruptionBudgetController } from "./disruption-budget.controller.ts";
import { staleDisruptionController } from "./stale-disruption.controller.ts";

export function disruptionControllers(
  parts: Pick<ControllerParts, "store" | "writer" | "catalog" | "ownership" | "clock" | "teller">,
): readonly ServerController[] {
  return [disruptionBudgetController(parts), staleDisruptionController(parts)];
}
