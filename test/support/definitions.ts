/** CustomResourceDefinitions compared with those of others, and put on servers. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "js-yaml";
import { describe, expect, it } from "vitest";
import { CustomResourceDefinition, DefinitionCondition } from "#api/apiextensions";
import type { Client } from "#kube";
import { isTrue } from "#lib/conditions";
import { isObject } from "#lib/json";
import { eventually } from "./eventually.ts";

const UPSTREAM = fileURLToPath(new URL("../../../shared/upstream/crds/", import.meta.url));
const required = (process.env.CAPSTAN_REQUIRE ?? "").split(",").includes("shared");

/** Holds each definition of ours against a file of upstream's. */
export function comparedWithUpstream(
  pairs: readonly (readonly [file: string, ours: CustomResourceDefinition])[],
  compare = (ours: CustomResourceDefinition, theirs: CustomResourceDefinition) =>
    expect(comparable(ours)).toEqual(comparable(theirs)),
): void {
  describe.skipIf(!existsSync(UPSTREAM) && !required)("our CRDs, field by field against shared/upstream", () => {
    it.each(pairs)("%s", (file, ours) => {
      compare(
        ours,
        load(readFileSync(`${UPSTREAM}${file}`, "utf8"), { json: true }) as unknown as CustomResourceDefinition,
      );
    });
  });
}

/** Leaves out what says nothing about the wire: descriptions, the generator's mark, an empty status, a retired default. */
function comparable(crd: CustomResourceDefinition): unknown {
  const { apiVersion, kind, metadata, spec } = withoutDescriptions(crd) as {
    apiVersion: string;
    kind: string;
    metadata: { name: string; annotations?: Record<string, string> };
    spec: Record<string, unknown>;
  };
  const { preserveUnknownFields, ...rest } = spec;
  expect(preserveUnknownFields ?? false).toBe(false);
  const { "controller-gen.kubebuilder.io/version": _, ...annotations } = metadata.annotations ?? {};
  const versions = (rest.versions as Record<string, unknown>[]).map(withoutEmptySubresources);
  return { apiVersion, kind, name: metadata.name, annotations, spec: { ...rest, versions } };
}

function withoutEmptySubresources({ subresources, ...version }: Record<string, unknown>): Record<string, unknown> {
  const isEmpty = isObject(subresources) && Object.keys(subresources).length === 0;
  return isEmpty || subresources === undefined ? version : { ...version, subresources };
}

/** Without what says nothing about the wire. */
export function withoutDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key, inner]) => !(key === "description" && typeof inner === "string"));
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutDescriptions(inner)]));
}

/** Ends when the server serves all of them. */
export async function untilEstablished(
  client: Client,
  definitions: readonly CustomResourceDefinition[],
): Promise<void> {
  for (const { metadata } of definitions) {
    await eventually(async () => {
      const { status } = await client.get(CustomResourceDefinition, metadata.name);
      expect(isTrue(status?.conditions, DefinitionCondition.Established)).toBe(true);
    });
  }
}
