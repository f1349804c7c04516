/** What becomes of works when programs die, hubs are away, and hubs come back older than they were. */
import { afterAll, beforeAll } from "vitest";
import { absenceCases } from "./absence.ts";
import { controllerCases } from "./controllers.ts";
import { type DeathOptions, deathCases } from "./deaths.ts";
import { departureCases } from "./departure.ts";
import { type FaultServers, WorkFaultStage } from "./stage.ts";

export interface FaultOptions extends DeathOptions {
  /** Whether the hub's own controllers die too. */
  readonly controllers: boolean;
}

export function workFaultsSuite(servers: FaultServers, options: FaultOptions): void {
  let stage: WorkFaultStage;
  beforeAll(async () => {
    stage = await WorkFaultStage.open(servers);
  }, 180_000);
  afterAll(() => stage?.close(), 60_000);

  deathCases(() => stage, options);
  if (options.controllers) controllerCases(() => stage);
  departureCases(() => stage);
  absenceCases(() => stage);
}
