/**
 * The agent's part of registration, on any two API servers. Open Cluster Management tests the same in
 * test/integration/registration and test/e2e; ../registration/README.md says which of its lines is proven where.
 */
import { afterAll, beforeAll, describe, it } from "vitest";
import type { StartServer } from "../../support/servers.ts";
import { FaultStage } from "../registration-faults/stage.ts";
import { identityCases } from "./identity.ts";
import { lifeSignCases } from "./life-signs.ts";
import { proxyCases } from "./proxies.ts";
import { requestCases } from "./requests.ts";

export function registrationAgentSuite(start: StartServer): void {
  let stage: FaultStage;
  beforeAll(async () => {
    stage = await FaultStage.open(start);
  }, 180_000);
  afterAll(() => stage?.close(), 60_000);

  describe("identity", () => identityCases(() => stage, start));
  describe("proxies", () => proxyCases(() => stage));
  describe("requests", () => requestCases(() => stage));
  describe("life signs", () => lifeSignCases(() => stage));
  it("tells no secret to anybody, whatever happens", () => stage.expectSilence());
}
