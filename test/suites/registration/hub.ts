/** What a hub does for and about its clusters. */
import { afterAll, beforeAll, describe } from "vitest";
import type { StartServer } from "../../support/servers.ts";
import { detachCases } from "./detach.ts";
import { identityCases, type ServerTraits } from "./identities.ts";
import { lifeSignCases } from "./life-signs.ts";
import { profileCases } from "./profiles.ts";
import { setCases } from "./sets.ts";
import { HubStage } from "./stage.ts";

export function hubSuite(start: StartServer, traits: ServerTraits): void {
  let stage: HubStage;
  beforeAll(async () => {
    stage = await HubStage.open(start);
  }, 180_000);
  afterAll(() => stage?.close(), 60_000);

  describe("identities", () => identityCases(() => stage, traits));
  describe("life signs", () => lifeSignCases(() => stage));
  describe("sets", () => setCases(() => stage));
  describe("profiles", () => profileCases(() => stage));
  describe("detach", () => detachCases(() => stage));
}
