import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { TargetReason } from "#api/knative";

const guide = readFileSync(new URL("../../../../docs/guides/knative.md", import.meta.url), "utf8");

it("every reason of TargetClusterResolved is in the guide, with its cause and its cure, and no other", () => {
  const [, table = ""] = /<!-- reasons: begin -->(.*)<!-- reasons: end -->/s.exec(guide) ?? [];
  const rows = [...table.matchAll(/^\| `(\w+)`\s*\|\s*(\S[^|]*?)\s*\|\s*(\S[^|]*?)\s*\|$/gm)];
  expect(rows.map(([, reason]) => reason)).toEqual(Object.values(TargetReason));
});
