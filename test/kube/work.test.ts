import { describe } from "vitest";
import { workSuite } from "../suites/work/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`work on a real kube-apiserver${missing ? ` (${missing})` : ""}`, () =>
  workSuite((name, options) => startControlPlane(name, { ...options, audit: true })),
);
