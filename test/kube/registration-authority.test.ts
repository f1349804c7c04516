import { describe } from "vitest";
import { registrationAuthoritySuite } from "../suites/registration-authority/index.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(
  `hubs that show another certificate, on a real kube-apiserver${missing ? ` (${missing})` : ""}`,
  () => registrationAuthoritySuite({ startHub: startControlPlane, startSpoke: startControlPlane }),
);
