import { describe } from "vitest";
import { registrationSuite } from "../suites/registration/index.ts";
import { startEmbedded } from "../support/servers.ts";

describe("registration on embedded API servers", () => registrationSuite(startEmbedded));
