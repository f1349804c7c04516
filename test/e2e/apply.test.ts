import { describe } from "vitest";
import { applySuite } from "../suites/apply/index.ts";
import { startEmbedded } from "../support/servers.ts";

describe("the apply engine on an embedded API server", () => applySuite(startEmbedded, { simulates: true }));
