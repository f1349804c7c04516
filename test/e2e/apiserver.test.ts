import { describe } from "vitest";
import { apiserverSuite } from "../suites/apiserver.ts";
import { startEmbedded } from "../support/servers.ts";

describe("an embedded API server", () => apiserverSuite(startEmbedded));
