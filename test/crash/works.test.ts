import { describe } from "vitest";
import { workFaultsSuite } from "../suites/work-faults/index.ts";
import { startMortal } from "../support/mortal-server.ts";
import { startEmbedded } from "../support/servers.ts";

describe("works among many faults", () =>
  workFaultsSuite(
    { startHub: startMortal, startSpoke: startEmbedded },
    { seeds: [5, 6, 7, 8, 9, 10, 11, 12], shortLives: true, hubMoments: ["before", "after"], controllers: true },
  ));
