/** What the apply engine promises, on any API server. */
import { afterAll, beforeAll } from "vitest";
import type { StartServer } from "../../support/servers.ts";
import { knativeCases } from "./knative.ts";
import { phaseCases } from "./phases.ts";
import { planCases } from "./plan.ts";
import { quietCases } from "./quiet.ts";
import { setCases } from "./sets.ts";
import { ApplyStage } from "./stage.ts";
import { strategyCases } from "./strategies.ts";

export interface ApplySuiteOptions {
  /** Whether the server answers for webhooks of simulated Pods. */
  readonly simulates: boolean;
}

export function applySuite(start: StartServer, options: ApplySuiteOptions): void {
  let stage: ApplyStage;

  beforeAll(async () => {
    stage = new ApplyStage(await start("apply"));
  }, 120_000);

  afterAll(() => stage?.server.close(), 60_000);

  for (const cases of [phaseCases, strategyCases, quietCases, setCases, planCases]) cases(() => stage);
  knativeCases(() => stage, options);
}
