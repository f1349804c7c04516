import { describe } from "vitest";
import { workFaultsSuite } from "../suites/work-faults/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`works among faults, on real kube-apiservers${missing ? ` (${missing})` : ""}`, () =>
  workFaultsSuite(
    { startHub: () => startControlPlane("hub"), startSpoke: startControlPlane },
    { seeds: [3, 4], shortLives: false, hubMoments: ["before"], controllers: true },
  ),
);
