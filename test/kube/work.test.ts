import { describe } from "vitest";
import { detachedSuite } from "../suites/work/detached.ts";
import { workSuite } from "../suites/work/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();
const why = missing ? ` (${missing})` : "";

describe.skipIf(missing)(`work on a real kube-apiserver${why}`, () =>
  workSuite((name, options) => startControlPlane(name, { ...options, audit: true })),
);
describe.skipIf(missing)(`work and registration on a real kube-apiserver${why}`, () =>
  detachedSuite(startControlPlane),
);
