import { describe } from "vitest";
import { conformanceSuite } from "../conformance/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`a real kube-apiserver${missing ? ` (${missing})` : ""}`, () =>
  conformanceSuite((name, options) => startControlPlane(name, { audit: true, ...options })),
);
