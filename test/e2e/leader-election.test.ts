import { describe } from "vitest";
import { electionSuite } from "../suites/election/index.ts";
import { startEmbedded } from "../support/servers.ts";

describe("a Lease on an embedded API server", () => electionSuite(startEmbedded));
