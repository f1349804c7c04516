import { describe } from "vitest";
import { registrationSuite } from "../suites/registration/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`registration on a real kube-apiserver${missing ? ` (${missing})` : ""}`, () =>
  registrationSuite(startControlPlane),
);
