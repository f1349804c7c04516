import { describe } from "vitest";
import { hubSuite } from "../suites/registration/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`a hub on a real kube-apiserver${missing ? ` (${missing})` : ""}`, () =>
  hubSuite(startControlPlane, { endsWatches: false }),
);
