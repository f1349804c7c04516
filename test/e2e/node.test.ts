import { describe } from "vitest";
import { nodeSuite } from "../suites/node.ts";
import { startEmbedded } from "../support/servers.ts";

describe("nodes of an embedded cluster", () => nodeSuite(startEmbedded));
