import { describe } from "vitest";
import { bareHubSuite, operatedHubSuite } from "../suites/admission-hubs.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();
const why = missing ? ` (${missing})` : "";

describe.skipIf(missing)(`what a hub of its own lets in on a real control plane${why}`, () =>
  bareHubSuite(startControlPlane),
);
describe.skipIf(missing)(`what the Pods of a hub let in on a real control plane${why}`, () =>
  operatedHubSuite(startControlPlane),
);
