import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, it } from "vitest";
import { crashRounds } from "../crash/rounds.ts";

describe("an API server that is killed", () => {
  beforeAll(() => {
    execFileSync(process.execPath, [fileURLToPath(new URL("../../tools/build.mjs", import.meta.url))], {
      stdio: "inherit",
    });
  }, 60_000);

  it("keeps its word, a few times in every run", () => crashRounds({ rounds: 4, seed: Date.now() }), 60_000);
});
