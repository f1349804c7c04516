import { describe } from "vitest";
import { nodeProgramsSuite } from "../suites/node-programs/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`Pods of Capstan's own image on a real cluster${missing ? ` (${missing})` : ""}`, () =>
  nodeProgramsSuite(startControlPlane),
);
