import { describe } from "vitest";
import { conformanceSuite } from "../conformance/index.ts";
import { startEmbedded } from "../support/servers.ts";

describe("an embedded API server", () => conformanceSuite(startEmbedded));
