/** What the work agent promises, on any two API servers. */
import { afterAll, beforeAll } from "vitest";
import type { StartServer } from "../../support/servers.ts";
import { basicCases } from "./basics.ts";
import { endingCases } from "./endings.ts";
import { finishedCases } from "./finished.ts";
import { forgottenCases } from "./forgotten.ts";
import { planCases } from "./plan.ts";
import { reportCases } from "./reports.ts";
import { rightsCases } from "./rights.ts";
import { WorkStage } from "./stage.ts";
import { strategyCases } from "./strategies.ts";
import { workloadCases } from "./workloads.ts";

export function workSuite(start: StartServer): void {
  let stage: WorkStage;

  beforeAll(async () => {
    stage = await WorkStage.open(start);
  }, 180_000);

  afterAll(() => stage?.close(), 60_000);

  for (const cases of [
    basicCases,
    strategyCases,
    endingCases,
    reportCases,
    rightsCases,
    finishedCases,
    workloadCases,
    planCases,
    forgottenCases,
  ])
    cases(() => stage);
}
