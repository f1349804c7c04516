import { describe } from "vitest";
import { workFaultsSuite } from "../suites/work-faults/index.ts";
import { startMortal } from "../support/mortal-server.ts";
import { startEmbedded } from "../support/servers.ts";

describe("works among faults, on embedded API servers", () =>
  workFaultsSuite(
    { startHub: startMortal, startSpoke: startEmbedded },
    { seeds: [1, 2], shortLives: false, hubMoments: ["after"], controllers: false },
  ));
