import { describe } from "vitest";
import { applySuite } from "../suites/apply/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`the apply engine on a real kube-apiserver${missing ? ` (${missing})` : ""}`, () =>
  applySuite((name) => startControlPlane(name, { audit: true }), { simulates: false }),
);
