import { describe } from "vitest";
import { hubSuite } from "../suites/registration/index.ts";
import { startEmbedded } from "../support/servers.ts";

describe("a hub on an embedded API server", () => hubSuite(startEmbedded, { endsWatches: true }));
