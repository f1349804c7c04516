import { describe } from "vitest";
import { bareHubSuite, operatedHubSuite } from "../suites/admission-hubs.ts";
import { startEmbedded } from "../support/servers.ts";

describe("what a hub of its own lets in on an embedded cluster", () => bareHubSuite(startEmbedded));
describe("what the Pods of a hub let in on an embedded cluster", () => operatedHubSuite(startEmbedded));
