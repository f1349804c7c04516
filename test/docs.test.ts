/** Documents that are made from code are current, and what they are made from keeps to its promises. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("the conformance suite", () => {
  it("is counted in the API server's README, case by case", () => {
    const { stderr } = spawnSync(process.execPath, [join(root, "tools/conformance-table.mjs"), "--check"], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
  });

  it("knows a server from outside only, because it must hold on any", () => {
    const folder = join(root, "test/conformance");
    const inside = readdirSync(folder).filter((file) =>
      /(from |import\()"[^"]*(apiserver|support\/servers|\/kube\/)/.test(readFileSync(join(folder, file), "utf8")),
    );
    expect(inside).toEqual([]);
  });
});
