import { describe } from "vitest";
import { knativeSuite } from "../suites/knative/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`the Knative operator on real kube-apiservers${missing ? ` (${missing})` : ""}`, () =>
  knativeSuite((name, options) => startControlPlane(name, { ...options, audit: true, webhooks: false })),
);
