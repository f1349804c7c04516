import { describe } from "vitest";
import { workSuite } from "../suites/work/index.ts";
import { startEmbedded } from "../support/servers.ts";

describe("work on embedded API servers", () => workSuite(startEmbedded));
