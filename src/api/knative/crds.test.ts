import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { isKubeError } from "#kube";
import { comparedWithUpstream, untilEstablished, withoutDescriptions } from "../../../test/support/definitions.ts";
import { startEmbedded, type TestServer } from "../../../test/support/servers.ts";
import { KnativeEventing, KnativeServing, knativeEventingCrd, knativeServingCrd } from "./index.ts";

/** All of upstream's, and two things more. */
comparedWithUpstream(
  [
    ["operator.knative.dev_knativeservings.yaml", knativeServingCrd],
    ["operator.knative.dev_knativeeventings.yaml", knativeEventingCrd],
  ],
  (ours, theirs) => {
    // One version is never converted, so it does not matter who would.
    delete theirs.spec.conversion;
    const [version] = structuredClone(ours).spec.versions;
    const spec = version?.schema?.openAPIV3Schema?.properties?.spec?.properties ?? {};
    const { namespaceConfiguration, ...rest } = spec;
    expect(withoutDescriptions(namespaceConfiguration)).toEqual(withoutDescriptions(rest.namespace));

    const [their] = theirs.spec.versions;
    const [first, ...added] = version?.additionalPrinterColumns ?? [];
    expect([first]).toEqual(their?.additionalPrinterColumns);
    expect(added.map(({ name }) => name)).toEqual(["Version", "Ready", "Reason", "Age"]);

    const known = structuredClone(ours);
    delete known.spec.versions[0]?.schema?.openAPIV3Schema?.properties?.spec?.properties?.namespaceConfiguration;
    expect(comparable(known)).toEqual(comparable(theirs));
  },
);

function comparable({ metadata, spec }: CustomResourceDefinition): unknown {
  const versions = spec.versions.map(({ additionalPrinterColumns: _, ...version }) => version);
  return withoutDescriptions({ name: metadata.name, spec: { ...spec, versions } });
}

describe("on a server", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startEmbedded("knative-kinds");
    const definitions = [knativeServingCrd, knativeEventingCrd];
    for (const definition of definitions) await server.client.create(CustomResourceDefinition, definition);
    await untilEstablished(server.client, definitions);
  });
  afterAll(() => server.close());

  let count = 0;
  const serving = (spec?: unknown) =>
    server.client.create(KnativeServing, {
      apiVersion: "operator.knative.dev/v1beta1",
      kind: "KnativeServing",
      metadata: { namespace: "default", name: `s${++count}` },
      ...(spec !== undefined && { spec: spec as NonNullable<KnativeServing["spec"]> }),
    });
  const eventing = (spec: unknown) =>
    server.client.create(KnativeEventing, {
      apiVersion: "operator.knative.dev/v1beta1",
      kind: "KnativeEventing",
      metadata: { namespace: "default", name: `e${++count}` },
      spec: spec as NonNullable<KnativeEventing["spec"]>,
    });

  it("the definitions are smaller than what a server or a client takes in one piece", () => {
    for (const definition of [knativeServingCrd, knativeEventingCrd]) {
      // kubectl apply repeats it in an annotation, of which there may be 256 KiB.
      expect(JSON.stringify(definition).length).toBeLessThan(128 * 1024);
    }
  });

  it("[spec.clusterProfileRef.name] [spec.clusterProfileRef.namespace] are kept for ever", async () => {
    const remote = await serving({ clusterProfileRef: { name: "spoke", namespace: "fleet-system" } });
    const local = await serving({});
    const moved = { spec: { clusterProfileRef: { name: "other" } } };
    await expect(patched(remote, moved)).rejects.toThrow("spec.clusterProfileRef is immutable");
    const word = "spec.clusterProfileRef cannot be added or removed after creation";
    await expect(patched(remote, { spec: { clusterProfileRef: null } })).rejects.toThrow(word);
    await expect(patched(local, { spec: { clusterProfileRef: { name: "a", namespace: "b" } } })).rejects.toThrow(word);
    await expect(patched(remote, { spec: { version: "1.23" } })).resolves.toMatchObject({ spec: { version: "1.23" } });
  });

  const patched = (object: KnativeServing, patch: object) =>
    server.client.patch(KnativeServing, `default/${object.metadata.name}`, patch, { type: "merge" });

  it.each([
    [{ clusterProfileRef: { name: "", namespace: "x" } }, "spec.clusterProfileRef.name"],
    [{ clusterProfileRef: { name: "x" } }, "spec.clusterProfileRef.namespace"],
    [{ manifests: [{ url: "https://example.com" }] }, "spec.manifests[0].URL"],
    [{ additionalManifests: [{}] }, "spec.additionalManifests[0].URL"],
    [{ "high-availability": {} }, "spec.high-availability.replicas"],
    [{ "controller-custom-certs": { name: "x" } }, "spec.controller-custom-certs.type"],
    [{ security: { securityGuard: {} } }, "spec.security.securityGuard.enabled"],
    [{ workloads: [{ replicas: 1 }] }, "spec.workloads[0].name"],
    [{ resources: [{ limits: { cpu: 1 } }] }, "spec.resources[0].container"],
    [
      { ingress: { istio: { "knative-ingress-gateway": { servers: [{ tls: { mode: "NONE" } }] } } } },
      "spec.ingress.istio.knative-ingress-gateway.servers[0].tls.mode",
    ],
  ])("refuses %j, because of %s", async (spec, field) => {
    const error: unknown = await serving(spec).catch((caught: unknown) => caught);
    expect(isKubeError(error) && error.message).toContain(field);
  });

  it("refuses a source without all the others, as upstream does", async () => {
    await expect(eventing({ source: { kafka: { enabled: true } } })).rejects.toThrow("spec.source.ceph");
  });

  it("accepts what only old objects have, and keeps namespaceConfiguration", async () => {
    const { spec } = await serving({
      namespaceConfiguration: { labels: { a: "b" } },
      deployments: [{ name: "x", version: "v1", volumeMounts: [{ name: "v", mountPath: "/v" }] }],
    });
    expect(spec).toMatchObject({ namespaceConfiguration: { labels: { a: "b" } } });
    expect(spec?.deployments?.[0]).toMatchObject({ version: "v1", volumeMounts: [{ name: "v" }] });
  });

  it("accepts an object without any wishes", async () => {
    await expect(serving()).resolves.toBeDefined();
  });
});
