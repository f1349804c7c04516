import { describe } from "vitest";
import { clusterManagerSuite } from "../suites/operator-cluster-manager.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`the operator of a hub on a real control plane${missing ? ` (${missing})` : ""}`, () =>
  clusterManagerSuite((name, options) => startControlPlane(name, { ...options, audit: true })),
);
