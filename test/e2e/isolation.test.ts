import { describe } from "vitest";
import { isolationSuite } from "../suites/isolation/index.ts";
import { startEmbedded } from "../support/servers.ts";

describe("isolation on an embedded API server", () => isolationSuite(startEmbedded, { refusals: 20_000 }));
