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

it("of agents that manage another cluster, their Klusterlet tells", () => {
  const conditions = [
    {
      type: "WorkRemovalHeld",
      status: "True" as const,
      reason: "RemovalHeld",
      message:
        "Of what ManifestWork a brought, something is not removed. If it is to go: kubectl annotate appliedmanifestworks hash-a work.capstan.dev/removal=confirmed",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
    {
      type: "Applied",
      status: "True" as const,
      reason: "KlusterletApplied",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ];
  const findings = spokeFindings({
    operator: undefined,
    klusterlets: [
      {
        klusterlet: {
          apiVersion: "operator.open-cluster-management.io/v1",
          kind: "Klusterlet",
          metadata: { name: "k" },
          status: { conditions },
        },
        clusterName: "c1",
        agentNamespace: "k",
        agents: [],
        bootstrap: { state: "there", server: "https://hub", tokenExpires: undefined, isElsewhere: false },
        identity: { state: "missing" },
        hub: { state: "not asked" },
      },
    ],
    applied: [],
    now: new Date(),
  });
  expect(findings.filter(({ level }) => level === "warning")).toEqual([
    {
      level: "warning",
      about: "Klusterlet k",
      message: "Of what ManifestWork a brought, something is not removed",
      mend: "kubectl annotate appliedmanifestworks hash-a work.capstan.dev/removal=confirmed, with --context of its managed cluster",
    },
  ]);
});
