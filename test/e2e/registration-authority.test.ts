import { describe } from "vitest";
import { registrationAuthoritySuite } from "../suites/registration-authority/index.ts";
import { startRenewableEmbedded } from "../support/renewable-servers.ts";
import { startEmbedded } from "../support/servers.ts";

describe("hubs that show another certificate, on embedded API servers", () =>
  registrationAuthoritySuite({ startHub: startRenewableEmbedded, startSpoke: startEmbedded }));
