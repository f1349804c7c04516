import { describe } from "vitest";
import { registrationFaultsSuite } from "../suites/registration-faults/index.ts";
import { startEmbedded } from "../support/servers.ts";

describe("registration among faults, on embedded API servers", () =>
  registrationFaultsSuite(startEmbedded, { seeds: [1, 2] }));
