import { describe } from "vitest";
import { projectionsSuite } from "../suites/projections.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(
  `copies of a part of each object, on a real kube-apiserver${missing ? ` (${missing})` : ""}`,
  () => projectionsSuite((name) => startControlPlane(name)),
);
