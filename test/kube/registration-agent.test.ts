import { describe } from "vitest";
import { registrationAgentSuite } from "../suites/registration-agent/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`the registration agent on a real kube-apiserver${missing ? ` (${missing})` : ""}`, () =>
  registrationAgentSuite(startControlPlane),
);
