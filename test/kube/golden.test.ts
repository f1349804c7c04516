/**
 * The recordings, of Kubernetes 1.37, asked of a real 1.36.3: what CHANGES says of it is true, and it is all there is.
 * The embedded server is held to the same answers.
 */
import { describe } from "vitest";
import { type Difference, ROLLOUT, withoutDeletion, withoutKeys } from "../e2e/golden/differences.ts";
import { missingRecordings } from "../e2e/golden/recordings.ts";
import { goldenSuite } from "../e2e/golden/suite.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane() ?? missingRecordings();

/** Of how it was started and of what came first, not of its version. */
const CIRCUMSTANCES: readonly Difference[] = [
  {
    at: ["authz/11", "authz/12"],
    difference: "ES256",
    why: "the control plane of the tests signs with a key on an elliptic curve, the recorded one with RSA",
    apart: withoutKeys,
  },
  ROLLOUT,
  {
    at: ["delete/22"],
    difference: "the object is marked as deleted already",
    why: "the namespace controller may have come by before",
    sometimes: true,
    apart: withoutDeletion,
  },
];

describe.skipIf(missing)(`recordings, on a real kube-apiserver${missing ? ` (${missing})` : ""}`, () =>
  goldenSuite(startControlPlane, CIRCUMSTANCES),
);
