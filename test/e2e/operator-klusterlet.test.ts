import { describe } from "vitest";
import { klusterletSuite } from "../suites/operator-klusterlet/index.ts";
import { startEmbedded } from "../support/servers.ts";

describe("the operator of a spoke on an embedded cluster", () => klusterletSuite(startEmbedded));
