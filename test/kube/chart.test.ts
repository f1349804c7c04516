import { describe } from "vitest";
import { missingOf, stranger } from "../interop/strangers.ts";
import { chartRightsSuite } from "../suites/chart-rights.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const helm = stranger("helm4");
const missing = missingControlPlane() ?? missingOf({ paths: [helm] });

describe.skipIf(missing)(`the chart's rights on real kube-apiservers${missing ? ` (${missing})` : ""}`, () =>
  chartRightsSuite((name, options) => startControlPlane(name, { ...options, audit: true, webhooks: false }), helm),
);
