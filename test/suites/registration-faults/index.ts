/** What becomes of registration when programs die, networks break and clocks are off, on any two API servers. */
import { afterAll, beforeAll, describe, it } from "vitest";
import type { StartServer } from "../../support/servers.ts";
import { type HandshakeOptions, handshakeCases } from "./handshake.ts";
import { networkCases } from "./network.ts";
import { FaultStage } from "./stage.ts";

export function registrationFaultsSuite(start: StartServer, options: HandshakeOptions): void {
  let stage: FaultStage;
  beforeAll(async () => {
    stage = await FaultStage.open(start);
  }, 180_000);
  afterAll(() => stage?.close(), 60_000);

  describe("the handshake", () => handshakeCases(() => stage, options));
  describe("the way to the hub", () => networkCases(() => stage));
  it("tells no secret to anybody, whatever happens", () => stage.expectSilence());
}
