import { describe } from "vitest";
import { projectionsSuite } from "../suites/projections.ts";
import { startEmbedded } from "../support/servers.ts";

describe("copies of a part of each object, on an embedded API server", () => projectionsSuite(startEmbedded));
