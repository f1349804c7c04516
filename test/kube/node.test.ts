import { describe } from "vitest";
import { nodeSuite } from "../suites/node.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`nodes in the place of kubelets${missing ? ` (${missing})` : ""}`, () =>
  nodeSuite(startControlPlane),
);
