import { expect, it } from "vitest";
import type { AppliedManifestWork } from "#api/work";
import { spokeFindings } from "./spoke-rules.ts";

const applied = (work: string, annotations?: Record<string, string>): AppliedManifestWork => ({
  apiVersion: "work.open-cluster-management.io/v1",
  kind: "AppliedManifestWork",
  metadata: { name: `hash-${work}`, ...(annotations && { annotations }) },
  spec: { hubHash: "hash", manifestWorkName: work },
});

it("what an agent does not remove on its own is told, with the command that lets it go", () => {
  const held =
    "Nothing is removed, because the hub lacks many works at once. If it is to go nevertheless: kubectl annotate appliedmanifestwork hash-a work.capstan.dev/removal=confirmed";
  const findings = spokeFindings({
    operator: undefined,
    klusterlets: [],
    applied: [applied("a", { "work.capstan.dev/removal-held": held }), applied("b")],
    now: new Date(),
  });
  expect(findings).toEqual([
    {
      level: "warning",
      about: "what ManifestWork a brought",
      message: "Nothing is removed, because the hub lacks many works at once",
      mend: "kubectl annotate appliedmanifestwork hash-a work.capstan.dev/removal=confirmed",
    },
  ]);
});
