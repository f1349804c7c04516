import { describe } from "vitest";
import { klusterletSuite } from "../suites/operator-klusterlet/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`the operator of a spoke on a real control plane${missing ? ` (${missing})` : ""}`, () =>
  klusterletSuite(startControlPlane),
);
