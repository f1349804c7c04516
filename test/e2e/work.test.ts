import { describe } from "vitest";
import { detachedSuite } from "../suites/work/detached.ts";
import { workSuite } from "../suites/work/index.ts";
import { startEmbedded } from "../support/servers.ts";

describe("work on embedded API servers", () => workSuite(startEmbedded));
describe("work and registration on embedded API servers", () => detachedSuite(startEmbedded));
