import { describe, expect, it } from "vitest";
import { apiVersionOf } from "#api/meta";
import { Klusterlet } from "#api/operator";
import { parseYaml } from "#kube";
import { agentObjects, bootstrapKubeconfigText, klusterletWish, placeOf } from "./klusterlet-wish.ts";

const PLAIN = { clusterName: "c1", mode: "default", endpoint: { server: "https://spoke:6443" } } as const;

describe("the Klusterlet", () => {
  it("asks for what the flags say", () => {
    const wish = klusterletWish(undefined, placeOf("c1", "singleton"), {
      ...PLAIN,
      mode: "singleton",
      endpoint: { server: "https://spoke:6443", ca: "PEM" },
      featureGates: [{ feature: "ClusterProperty", mode: "Disable" }],
      resources: { type: "BestEffort" },
      clientCertExpirationSeconds: 7200,
      annotations: { "agent.open-cluster-management.io/zone": "a" },
      grantAccess: "view",
    });
    expect(wish).toEqual({
      metadata: { name: "klusterlet", annotations: { "access.capstan.dev/cluster-role": "view" } },
      spec: {
        namespace: "open-cluster-management-agent",
        clusterName: "c1",
        deployOption: { mode: "Singleton" },
        externalServerURLs: [{ url: "https://spoke:6443", caBundle: "UEVN" }],
        resourceRequirement: { type: "BestEffort" },
        registrationConfiguration: {
          clientCertExpirationSeconds: 7200,
          featureGates: [{ feature: "ClusterProperty", mode: "Disable" }],
          clusterAnnotations: { "agent.open-cluster-management.io/zone": "a" },
        },
      },
    });
  });

  it("keeps what the flags do not speak of", () => {
    const existing: Klusterlet = {
      apiVersion: apiVersionOf(Klusterlet),
      kind: "Klusterlet",
      metadata: { name: "klusterlet", uid: "u", annotations: { mine: "1" } },
      spec: {
        clusterName: "c1",
        priorityClassName: "high",
        registrationConfiguration: { featureGates: [{ feature: "ClusterClaim", mode: "Disable" }] },
      },
    };
    const wish = klusterletWish(existing, placeOf("c1", "default"), {
      ...PLAIN,
      featureGates: [{ feature: "ClusterProperty", mode: "Enable" }],
    });
    expect(wish.metadata).toMatchObject({ uid: "u", annotations: { mine: "1" } });
    expect(wish.spec).toMatchObject({
      priorityClassName: "high",
      registrationConfiguration: {
        featureGates: [
          { feature: "ClusterClaim", mode: "Disable" },
          { feature: "ClusterProperty", mode: "Enable" },
        ],
      },
    });
  });

  it("says of works what is about works, as upstream's does", () => {
    const [raw, claims] = ["RawFeedbackJsonString", "ClusterClaim"];
    const { spec } = klusterletWish(undefined, placeOf("c1", "default"), {
      ...PLAIN,
      featureGates: [
        { feature: raw, mode: "Enable" },
        { feature: claims, mode: "Disable" },
      ],
    });
    expect(spec?.workConfiguration).toEqual({ featureGates: [{ feature: raw, mode: "Enable" }] });
    expect(spec?.registrationConfiguration?.featureGates).toEqual([{ feature: claims, mode: "Disable" }]);
  });

  it("of a hosted cluster is called the same at every try, and each cluster's another", () => {
    const place = placeOf("c1", "hosted");
    expect(place.name).toMatch(/^klusterlet-hosted-[0-9a-f]{6}$/);
    expect(place).toEqual(placeOf("c1", "hosted"));
    expect(place.agentNamespace).toBe(place.name);
    expect(place.namespace).toBe(`open-cluster-management-${place.name}`);
    expect(placeOf("c2", "hosted").name).not.toBe(place.name);
  });
});

it("writes the bootstrap kubeconfig with the names that agents compare", () => {
  const text = bootstrapKubeconfigText({ server: "https://hub", token: "t", ca: "PEM", proxyUrl: "http://p:1" });
  expect(parseYaml(text)).toEqual({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "hub",
        cluster: { server: "https://hub", "certificate-authority-data": "UEVN", "proxy-url": "http://p:1" },
      },
    ],
    users: [{ name: "bootstrap", user: { token: "t" } }],
    contexts: [{ name: "bootstrap", context: { cluster: "hub", user: "bootstrap", namespace: "default" } }],
    "current-context": "bootstrap",
  });
});

it("gives agents the managed cluster only where they are not on it", () => {
  const names = (managed?: string) =>
    agentObjects(placeOf("c1", "hosted"), { bootstrap: "b", ...(managed !== undefined && { managed }) }).map(
      ({ metadata }) => metadata.name,
    );
  const { name } = placeOf("c1", "hosted");
  expect(names()).toEqual([name, "bootstrap-hub-kubeconfig"]);
  expect(names("m")).toEqual([name, "bootstrap-hub-kubeconfig", "external-managed-kubeconfig"]);
});
