import { describe } from "vitest";
import { isolationSuite } from "../suites/isolation/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`isolation on a real kube-apiserver${missing ? ` (${missing})` : ""}`, () =>
  isolationSuite(startControlPlane, { refusals: 5_000 }),
);
