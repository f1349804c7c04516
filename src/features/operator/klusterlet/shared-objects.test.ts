import { expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import type { Namespace } from "#api/core";
import type { KlusterletSpec } from "#api/operator";
import { fakeCluster } from "../../../../test/support/index.ts";
import { releaseDefinitions, sharedObjects } from "./shared-objects.ts";
import { isRefused, wishOf } from "./wish.ts";

const CLAIMS = "clusterclaims.cluster.open-cluster-management.io";
const KEEPER = "open-cluster-management.io/created-by-klusterlet";
const VERSION = "operator.open-cluster-management.io/version";

interface Marks {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

function shared(marks: Marks = {}, spec: KlusterletSpec = {}, isOther = (name: string) => name === "other"): string[] {
  const wish = wishOf({ apiVersion: "", kind: "", metadata: { name: "k", uid: "u" }, spec });
  if (isRefused(wish)) throw new Error(wish.refusal);
  const definition = { metadata: { name: CLAIMS, ...marks } } as CustomResourceDefinition;
  const state = {
    definitions: { get: (key: string) => (key === CLAIMS ? definition : undefined) },
    namespaces: { get: () => undefined, list: (): Namespace[] => [] },
  };
  return sharedObjects(wish, { state, version: "1.3.1+capstan.1.0.0", labels: {}, isOther }).map(
    ({ metadata }) => metadata.name,
  );
}

it("keeps three definitions and the namespace of add-ons", () => {
  expect(shared()).toEqual([
    "appliedmanifestworks.work.open-cluster-management.io",
    CLAIMS,
    "clusterproperties.about.k8s.io",
    "open-cluster-management-agent-addon",
  ]);
});

it("does without ClusterProperty where its gate is closed", () => {
  const featureGates = [{ feature: "ClusterProperty", mode: "Disable" as const }];
  expect(shared({}, { registrationConfiguration: { featureGates } })).not.toContain("clusterproperties.about.k8s.io");
});

it("leaves to another Klusterlet what that one keeps, because two would take it from each other for ever", () => {
  expect(shared({ labels: { [KEEPER]: "other" } })).not.toContain(CLAIMS);
});

it("takes over what belonged to one that is gone", () => {
  expect(shared({ labels: { [KEEPER]: "gone" } })).toContain(CLAIMS);
});

it("does not undo what a newer operator wrote", () => {
  expect(shared({ annotations: { [VERSION]: "1.4.0" } })).not.toContain(CLAIMS);
  expect(shared({ annotations: { [VERSION]: "1.2.0" } })).toContain(CLAIMS);
});

it("takes only its own marks off the definitions when it goes", async () => {
  const marked = (name: string, keeper: string) => ({
    metadata: { name, labels: { [KEEPER]: keeper, mine: "yes" }, annotations: { [VERSION]: "1.3.1" } },
  });
  const works = "appliedmanifestworks.work.open-cluster-management.io";
  const cluster = fakeCluster();
  cluster.put(CustomResourceDefinition, marked(CLAIMS, "k") as unknown as CustomResourceDefinition);
  cluster.put(CustomResourceDefinition, marked(works, "other") as unknown as CustomResourceDefinition);
  await releaseDefinitions(cluster, "k", AbortSignal.timeout(5_000));
  expect(cluster.read(CustomResourceDefinition, CLAIMS)?.metadata.labels).toEqual({ mine: "yes" });
  expect(cluster.read(CustomResourceDefinition, CLAIMS)?.metadata.annotations ?? {}).toEqual({});
  expect(cluster.read(CustomResourceDefinition, works)?.metadata.labels).toMatchObject({ [KEEPER]: "other" });
});
