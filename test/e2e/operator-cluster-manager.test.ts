import { describe } from "vitest";
import { clusterManagerSuite } from "../suites/operator-cluster-manager.ts";
import { startEmbedded } from "../support/servers.ts";

describe("the operator of a hub on an embedded cluster", () => clusterManagerSuite(startEmbedded));
