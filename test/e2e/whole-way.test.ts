import { describe } from "vitest";
import { wholeWaySuite } from "../suites/whole-way.ts";
import { startEmbedded } from "../support/servers.ts";

describe("the administrator's way on embedded clusters", () => wholeWaySuite(startEmbedded));
