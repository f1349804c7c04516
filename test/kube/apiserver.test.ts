import { describe } from "vitest";
import { apiserverSuite } from "../suites/apiserver.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`a real kube-apiserver${missing ? ` (${missing})` : ""}`, () =>
  apiserverSuite(startControlPlane),
);
