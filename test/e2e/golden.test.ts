import { describe } from "vitest";
import { startEmbedded } from "../support/servers.ts";
import { DIFFERENCES } from "./golden/differences.ts";
import { missingRecordings } from "./golden/recordings.ts";
import { goldenSuite } from "./golden/suite.ts";

const missing = missingRecordings();

describe.skipIf(missing)(`recordings of a real server${missing ? ` (${missing})` : ""}`, () =>
  goldenSuite(startEmbedded, DIFFERENCES),
);
