import { expect, it } from "vitest";
import type { AppliedManifestWork } from "#api/work";
import { heldClaim } from "./held-removals.controller.ts";

const held = (...works: string[]): AppliedManifestWork[] =>
  works.map((work) => ({
    apiVersion: "work.open-cluster-management.io/v1",
    kind: "AppliedManifestWork",
    metadata: { name: `hash-${work}` },
    spec: { hubHash: "hash", manifestWorkName: work },
  }));

it("names the works, some of many, in an order that stays, and one command for all of them", () => {
  expect(heldClaim(held("a"))).toMatchObject({
    status: "True",
    message: expect.stringMatching(
      /^Of what ManifestWork a brought, .* kubectl annotate appliedmanifestworks hash-a work\.capstan\.dev\/removal=confirmed$/,
    ),
  });
  const many = heldClaim(held("g", "f", "e", "d", "c", "b", "a"));
  expect(many.message).toContain("ManifestWorks a, b, c, d, e and 2 more brought");
  expect(many.message).toContain(
    "annotate appliedmanifestworks -l work.capstan.dev/removal-held work.capstan.dev/removal=confirmed",
  );
  expect(many).toEqual(heldClaim(held("a", "b", "c", "d", "e", "f", "g")));
});

it("says that nothing waits when nothing does", () => {
  expect(heldClaim([])).toMatchObject({ status: "False", reason: "NoRemovalHeld" });
});
