import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "js-yaml";
import { describe, expect, it } from "vitest";
import type { CustomResourceDefinition } from "#api/apiextensions";
import { withoutDescriptions } from "../../../test/support/definitions.ts";
import { appliedManifestWorkCrd, manifestWorkCrd } from "./index.ts";

const UPSTREAM = fileURLToPath(new URL("../../../../shared/upstream/crds/", import.meta.url));
const required = (process.env.CAPSTAN_REQUIRE ?? "").split(",").includes("shared");

describe.skipIf(!existsSync(UPSTREAM) && !required)("our CRDs, field by field against shared/upstream", () => {
  it.each([
    ["work.open-cluster-management.io_manifestworks.yaml", manifestWorkCrd],
    ["work.open-cluster-management.io_appliedmanifestworks.yaml", appliedManifestWorkCrd],
  ])("%s", (file, ours) => {
    const theirs = load(readFileSync(`${UPSTREAM}${file}`, "utf8")) as CustomResourceDefinition;
    expect(comparable(ours)).toEqual(comparable(theirs));
  });
});

function comparable({ metadata, spec }: CustomResourceDefinition): unknown {
  const { preserveUnknownFields, ...rest } = spec as typeof spec & { preserveUnknownFields?: boolean };
  expect(preserveUnknownFields ?? false).toBe(false);
  return withoutDescriptions({ name: metadata.name, spec: rest });
}
