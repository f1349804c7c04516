import { describe, expect, it } from "vitest";
import { DEFINITION_NAMES, definitionsFor, FIRST_TO_GO, KNATIVE_DEFINITIONS, NEXT_TO_GO } from "./definitions.ts";

const converter = { service: { name: "cluster-manager-addon-webhook", namespace: "hub" } };

describe("the definitions of a hub", () => {
  it("have those of the inventory while its gate is open", () => {
    const kinds = (gate: boolean) =>
      definitionsFor({ gates: { ClusterProfile: gate } }).map(({ metadata }) => metadata.name);
    const inventory = ["clusterprofiles.multicluster.x-k8s.io", "placementdecisions.multicluster.x-k8s.io"];
    expect(kinds(true)).toEqual([...kinds(false), ...inventory]);
  });

  it("are all that agents and tools of Open Cluster Management look for", () => {
    const kinds = definitionsFor({ gates: {}, conversion: converter }).map(({ spec }) => spec.names.kind);
    expect(kinds).toEqual(
      expect.arrayContaining([
        "ManagedCluster",
        "ManagedClusterSet",
        "ManagedClusterSetBinding",
        "Placement",
        "PlacementDecision",
        "AddOnPlacementScore",
        "ManifestWork",
        "ManifestWorkReplicaSet",
        "ClusterManagementAddOn",
        "ManagedClusterAddOn",
        "AddOnDeploymentConfig",
        "AddOnTemplate",
      ]),
    );
  });

  it("have add-ons, whose versions differ, only while somebody converts them", () => {
    const addOns = (conversion?: typeof converter) =>
      definitionsFor({ gates: {}, conversion }).filter(({ spec }) =>
        /ManagementAddOn|ClusterAddOn/.test(spec.names.kind),
      );
    expect(addOns()).toEqual([]);
    expect(addOns(converter).map(({ spec }) => spec.conversion?.webhook?.clientConfig)).toEqual([converter, converter]);
  });

  it("go in an order in which add-ons and works are cleared up before their clusters are put out", () => {
    expect(FIRST_TO_GO.map(({ spec }) => spec.names.plural)).toEqual([
      "managedclusteraddons",
      "manifestworks",
      "managedclusters",
      "manifestworkreplicasets",
    ]);
  });

  it("go all of them, but those of the inventory", () => {
    const going = new Set([...FIRST_TO_GO, ...NEXT_TO_GO, ...KNATIVE_DEFINITIONS].map(({ metadata }) => metadata.name));
    expect([...DEFINITION_NAMES].filter((name) => !going.has(name))).toEqual([
      "clusterprofiles.multicluster.x-k8s.io",
      "placementdecisions.multicluster.x-k8s.io",
    ]);
  });
});
