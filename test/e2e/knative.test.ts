import { describe } from "vitest";
import { knativeSuite } from "../suites/knative/index.ts";
import { startEmbedded } from "../support/servers.ts";

describe("the Knative operator on embedded API servers", () => knativeSuite(startEmbedded));
