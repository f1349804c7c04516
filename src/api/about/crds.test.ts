import { expect } from "vitest";
import type { CustomResourceDefinition } from "#api/apiextensions";
import { comparedWithUpstream, withoutDescriptions } from "../../../test/support/definitions.ts";
import { clusterPropertyCrd } from "./index.ts";

/** Both of upstream's definitions have one version each; ours has theirs, each with the limit that they forgot. */
comparedWithUpstream(
  [
    ["about.k8s.io_clusterproperties.ocm-v1alpha1.yaml", clusterPropertyCrd],
    ["about.k8s.io_clusterproperties.yaml", clusterPropertyCrd],
  ],
  (ours, theirs) => {
    const [version] = theirs.spec.versions;
    expect(versionOf(ours, version?.name)).toEqual(versionOf(theirs, version?.name, { maxLength: 128_000 }));
    const { group, scope, names } = ours.spec;
    expect({ group, scope, names }).toMatchObject({
      group: theirs.spec.group,
      scope: theirs.spec.scope,
      names: theirs.spec.names,
    });
    expect(ours.metadata.name).toBe(theirs.metadata.name);
  },
);

function versionOf({ spec }: CustomResourceDefinition, name: string | undefined, limit: object = {}): unknown {
  const { storage: _, ...version } = spec.versions.find((each) => each.name === name) ?? {};
  const plain = withoutDescriptions(version) as CustomResourceDefinition["spec"]["versions"][number];
  const value = plain.schema?.openAPIV3Schema?.properties?.spec?.properties?.value;
  Object.assign(value ?? {}, limit);
  return plain;
}
