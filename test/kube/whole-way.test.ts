import { describe } from "vitest";
import { wholeWaySuite } from "../suites/whole-way.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`the administrator's way on real kube-apiservers${missing ? ` (${missing})` : ""}`, () =>
  wholeWaySuite(startControlPlane),
);
