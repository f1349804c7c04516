import { describe } from "vitest";
import { chartRightsSuite } from "../suites/chart-rights.ts";
import { startEmbedded } from "../support/servers.ts";
import { missingOf, stranger } from "./strangers.ts";

const helm = stranger("helm4");
const missing = missingOf({ paths: [helm] });

describe.skipIf(missing)(`the hub with the rights of its chart${missing ? ` (${missing})` : ""}`, () =>
  chartRightsSuite(startEmbedded, helm),
);
