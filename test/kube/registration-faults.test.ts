import { describe } from "vitest";
import { registrationFaultsSuite } from "../suites/registration-faults/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`registration among faults, on a real kube-apiserver${missing ? ` (${missing})` : ""}`, () =>
  registrationFaultsSuite(startControlPlane, { seeds: [1] }),
);
