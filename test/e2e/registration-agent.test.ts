import { describe } from "vitest";
import { registrationAgentSuite } from "../suites/registration-agent/index.ts";
import { startEmbedded } from "../support/servers.ts";

describe("the registration agent on embedded API servers", () => registrationAgentSuite(startEmbedded));
