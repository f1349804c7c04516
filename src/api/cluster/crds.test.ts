import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "js-yaml";
import { describe, expect, it } from "vitest";
import { clusterPropertyCrd } from "#api/about";
import { clusterProfileCrd } from "#api/inventory";
import { withoutDescriptions } from "../../../test/support/definitions.ts";
import { clusterClaimCrd, managedClusterCrd, managedClusterSetBindingCrd, managedClusterSetCrd } from "./index.ts";

const UPSTREAM = fileURLToPath(new URL("../../../../shared/upstream/crds/", import.meta.url));
const required = (process.env.CAPSTAN_REQUIRE ?? "").split(",").includes("shared");

describe.skipIf(!existsSync(UPSTREAM) && !required)("our CRDs, field by field against shared/upstream", () => {
  it.each([
    ["cluster.open-cluster-management.io_managedclusters.yaml", managedClusterCrd],
    ["cluster.open-cluster-management.io_managedclustersets.yaml", managedClusterSetCrd],
    ["cluster.open-cluster-management.io_managedclustersetbindings.yaml", managedClusterSetBindingCrd],
    ["cluster.open-cluster-management.io_clusterclaims.yaml", clusterClaimCrd],
    ["multicluster.x-k8s.io_clusterprofiles.yaml", clusterProfileCrd],
    ["about.k8s.io_clusterproperties.ocm-v1alpha1.yaml", clusterPropertyCrd],
  ])("%s", (file, ours) => {
    const theirs = load(readFileSync(`${UPSTREAM}${file}`, "utf8"));
    expect(comparable(ours)).toEqual(comparable(theirs));
  });
});

/** Leaves out what says nothing about the wire: descriptions, the generator's mark, an empty status, a retired default. */
function comparable(crd: unknown): unknown {
  const { apiVersion, kind, metadata, spec } = withoutDescriptions(crd) as {
    apiVersion: string;
    kind: string;
    metadata: { name: string; annotations?: Record<string, string> };
    spec: Record<string, unknown>;
  };
  const { preserveUnknownFields, ...rest } = spec;
  expect(preserveUnknownFields ?? false).toBe(false);
  const { "controller-gen.kubebuilder.io/version": _, ...annotations } = metadata.annotations ?? {};
  return { apiVersion, kind, name: metadata.name, annotations, spec: rest };
}
