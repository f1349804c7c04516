import { describe } from "vitest";
import { addOnKindsSuite } from "../suites/addon-kinds.ts";
import { startEmbedded } from "../support/servers.ts";

describe("kinds of add-ons on an embedded API server", () => addOnKindsSuite(startEmbedded));
