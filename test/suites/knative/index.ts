/** What the Knative operator promises, on any API server. */
import { afterAll, beforeAll } from "vitest";
import type { StartServer } from "../../support/servers.ts";
import { endingCases } from "./endings.ts";
import { lifeCases } from "./life.ts";
import { quietCases } from "./quiet.ts";
import { reasonCases } from "./reasons.ts";
import { releaseCases } from "./releases.ts";
import { KnativeStage } from "./stage.ts";
import { upgradeCases } from "./upgrades.ts";

export function knativeSuite(start: StartServer): void {
  let stage: KnativeStage;

  beforeAll(async () => {
    stage = await KnativeStage.open(start);
  });

  afterAll(() => stage?.close());

  lifeCases(() => stage);
  releaseCases(() => stage);
  upgradeCases(() => stage);
  quietCases(() => stage);
  endingCases(() => stage);
  reasonCases(() => stage);
}
