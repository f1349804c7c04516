/** What Knative really publishes, put through everything that is done to it. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Deployment } from "#api/apps";
import type { KnativeEventingSpec, KnativeServingSpec } from "#api/knative";
import type { DynamicObject } from "#api/meta";
import { createApplyEngine, identityOf, idOf, type Manifest, manifestsIn } from "#kube";
import { stringifyJson } from "#lib/json";
import { startEmbedded, type TestServer } from "../../../test/support/servers.ts";
import type { Component } from "./component.ts";
import { createReleases, directorySource } from "./releases/index.ts";
import { placed, transformed, withoutEncryption } from "./transform/index.ts";

const UPSTREAM = fileURLToPath(new URL("../../../../shared/upstream/knative", import.meta.url));
const required = (process.env.CAPSTAN_REQUIRE ?? "").split(",").includes("shared");
const releases = createReleases({ source: directorySource(UPSTREAM) });

const owner = { apiVersion: "operator.knative.dev/v1beta1", kind: "KnativeServing", name: "k", uid: "u-1" };
const NAMESPACE = "somewhere";
const NAMES = { KnativeServing: "knative-serving", KnativeEventing: "knative-eventing" };

interface Result {
  readonly written: readonly Manifest[];
  readonly objects: readonly DynamicObject[];
}

async function install(component: Component): Promise<Result> {
  const { manifests, version } = await releases.target(component);
  const all = transformed(manifests, { component, installNamespace: NAMESPACE, owner, targetVersion: version });
  const kept = component.kind === "KnativeEventing" ? withoutEncryption(all, component.spec).manifests : all;
  return { written: manifests, objects: kept.map(({ object }) => object) };
}

const serving = (spec: KnativeServingSpec): Component => ({ kind: "KnativeServing", spec });
const eventing = (spec: KnativeEventingSpec): Component => ({ kind: "KnativeEventing", spec });
const deployments = ({ objects }: Result) =>
  objects.filter(({ kind }) => kind === Deployment.kind).map(({ metadata }) => metadata.name);

const INGRESSES = ["istio", "kourier", "contour", "gateway-api"];
const SOURCES = ["ceph", "github", "gitlab", "kafka", "rabbitmq", "redis"];
const sources = (...enabled: string[]) =>
  Object.fromEntries(SOURCES.map((name) => [name, { enabled: enabled.includes(name) }])) as NonNullable<
    KnativeEventingSpec["source"]
  >;

const SETS: [string, Component][] = [
  ...["1.22", "1.23"].flatMap((version): [string, Component][] => [
    [`serving ${version}`, serving({ version, ingress: {} })],
    ...INGRESSES.map((name): [string, Component] => [
      `serving ${version} with ${name}`,
      serving({ version, ingress: { [name]: { enabled: true } } }),
    ]),
    [`eventing ${version}`, eventing({ version })],
  ]),
  ["serving 1.23 with a guard", serving({ ingress: {}, security: { securityGuard: { enabled: true } } })],
  ...SOURCES.map((name): [string, Component] => [`eventing 1.23 with ${name}`, eventing({ source: sources(name) })]),
  ["eventing 1.23 with all sources", eventing({ source: sources(...SOURCES) })],
  ["eventing 1.23, encrypted", eventing({ config: { features: { "transport-encryption": "strict" } } })],
];

describe.skipIf(!existsSync(UPSTREAM) && !required)("shared/upstream/knative", () => {
  it.each(SETS)("%s: every object has an identity of its own, and its place", async (_, component) => {
    const { written, objects } = await install(component);
    expect(objects.length).toBeGreaterThan(60);
    expect(new Set(objects.map((object) => identityOf(idOf(object)))).size).toBe(objects.length);
    const text = objects.map((object) => stringifyJson(object)).join("\n---\n");
    expect(manifestsIn(text, "result").problems).toEqual([]);

    const namespaces = objects.filter(({ kind }) => kind === "Namespace").map(({ metadata }) => metadata.name);
    expect(namespaces).toEqual([NAMESPACE]);
    const elsewhere = objects.filter(({ metadata }) => metadata.namespace && metadata.namespace !== NAMESPACE);
    const outside = component.kind === "KnativeServing" && written.some(({ object }) => object.kind === "Gateway");
    expect(elsewhere.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual(
      outside ? ["istio-system/knative-local-gateway"] : [],
    );
    const label = NAMES[component.kind];
    expect(objects.filter(({ metadata }) => metadata.labels?.["app.kubernetes.io/name"] !== label)).toEqual([]);
    const orphans = objects.filter(({ metadata }) => metadata.namespace === NAMESPACE && !metadata.ownerReferences);
    expect(orphans).toEqual([]);
  });

  it.each(SETS)(
    "%s: nothing speaks of another namespace any more, where it would be followed",
    async (_, component) => {
      const { objects } = await install(component);
      const followed = /"service":\{[^}]*"namespace":"(?!somewhere")|"subjects":\[[^\]]*"namespace":"(?!somewhere")/;
      const stray = objects.filter((object) => object.kind !== "ConfigMap" && followed.test(stringifyJson(object)));
      expect(stray.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
    },
  );

  it.each<[string, Component, number, number]>([
    // Written, and what remains of it: file 1 of each component stands in file 2 again, and Namespaces become one.
    ["serving", serving({ ingress: {} }), 75, 63],
    ["serving with istio", serving({}), 88, 76],
    ["serving with kourier", serving({ ingress: { kourier: { enabled: true } } }), 88, 75],
    ["serving with contour", serving({ ingress: { contour: { enabled: true } } }), 79, 67],
    ["serving with gateway-api", serving({ ingress: { "gateway-api": { enabled: true } } }), 83, 71],
    ["serving with a guard", serving({ ingress: {}, security: { securityGuard: { enabled: true } } }), 85, 72],
    ["eventing", eventing({}), 171, 150],
    ["eventing with all sources", eventing({ source: sources(...SOURCES) }), 319, 283],
  ])("%s has as many objects as ever", async (_, component, written, applied) => {
    const result = await install(component);
    expect([result.written.length, result.objects.length]).toEqual([written, applied]);
  });

  it.each<[string, Component, string[]]>([
    ["serving", serving({ ingress: {} }), ["activator", "autoscaler", "controller", "webhook", "autoscaler-hpa"]],
    ["istio", serving({}), ["net-istio-controller", "net-istio-webhook"]],
    [
      "kourier",
      serving({ ingress: { kourier: { enabled: true } } }),
      ["net-kourier-controller", "3scale-kourier-gateway"],
    ],
    ["contour", serving({ ingress: { contour: { enabled: true } } }), ["net-contour-controller"]],
    [
      "gateway-api",
      serving({ ingress: { "gateway-api": { enabled: true } } }),
      ["net-gateway-api-controller", "net-gateway-api-webhook"],
    ],
    ["guard", serving({ ingress: {}, security: { securityGuard: { enabled: true } } }), ["guard-service"]],
    ["kafka", eventing({ source: sources("kafka") }), ["kafka-controller", "kafka-webhook-eventing"]],
    [
      "eventing",
      eventing({}),
      [
        "eventing-controller",
        "job-sink",
        "pingsource-mt-adapter",
        "eventing-webhook",
        "imc-controller",
        "imc-dispatcher",
        "mt-broker-filter",
        "mt-broker-ingress",
        "mt-broker-controller",
      ],
    ],
  ])("%s brings its Deployments", async (_, component, names) => {
    expect(deployments(await install(component))).toEqual(expect.arrayContaining(names));
  });

  it("Jobs are named after the version", async () => {
    const jobs = async (component: Component) =>
      (await install(component)).objects.filter(({ kind }) => kind === "Job").map(({ metadata }) => metadata.name);
    expect(await jobs(serving({ ingress: {} }))).toEqual([
      "storage-version-migration-serving-serving-1.23.0",
      "cleanup-serving-serving-1.23.0",
    ]);
    expect(await jobs(eventing({ version: "1.22" }))).toEqual(["storage-version-migration-eventing-eventing-1.22.2"]);
  });

  it("certificates go unless Eventing encrypts", async () => {
    const certificates = ({ objects }: Result) =>
      objects.filter(({ apiVersion }) => apiVersion.startsWith("cert-manager.io/"));
    expect(certificates(await install(eventing({})))).toEqual([]);
    expect(
      certificates(await install(eventing({ config: { features: { "transport-encryption": "Strict" } } }))),
    ).toHaveLength(4);
  });

  it("an air-gapped registry is the only one that any image comes from", async () => {
    const registry = { default: `registry.local/knative/$${"{NAME}"}` };
    const { objects } = await install(serving({ registry, ingress: { kourier: { enabled: true } } }));
    const images = stringifyJson(objects).match(/"(?:image|queue-sidecar-image)":"[^"]*"/g) ?? [];
    expect(images.length).toBeGreaterThan(9);
    expect(images.filter((image) => !image.includes(':"registry.local/knative/'))).toEqual([]);
  });

  it("two replicas for all are two for each, or at least two where an autoscaler decides", async () => {
    const { objects } = await install(
      serving({ "high-availability": { replicas: 2 }, ingress: { kourier: { enabled: true } } }),
    );
    const numbers = objects.flatMap(({ kind, metadata, spec }) => {
      const { replicas, minReplicas } = (spec ?? {}) as { replicas?: number; minReplicas?: number };
      if (kind === "Deployment") return [[metadata.name, replicas]];
      return kind === "HorizontalPodAutoscaler" ? [[`${metadata.name} (autoscaler)`, minReplicas]] : [];
    });
    expect(Object.fromEntries(numbers)).toEqual({
      activator: undefined,
      autoscaler: 2,
      controller: 2,
      webhook: undefined,
      "autoscaler-hpa": 2,
      "net-kourier-controller": 2,
      "3scale-kourier-gateway": undefined,
      "activator (autoscaler)": 2,
      "webhook (autoscaler)": 2,
      "3scale-kourier-gateway (autoscaler)": 2,
    });
  });

  it("what is recorded leads back to what was installed, so that an upgrade finds what is obsolete", async () => {
    const component = serving({ version: "1.22", ingress: { kourier: { enabled: true } } });
    const { paths, version } = await releases.target(component);
    const before = placed(await releases.installed(paths), { component, installNamespace: NAMESPACE, version });
    const now = new Set((await install(component)).objects.map((object) => identityOf(idOf(object))));
    expect(before.filter(({ object }) => !now.has(identityOf(idOf(object))))).toEqual([]);
    expect(before).toHaveLength(now.size);

    const next = new Set(
      (await install(serving({ version: "1.23" }))).objects.map((object) => identityOf(idOf(object))),
    );
    const obsolete = before.filter(({ object }) => !next.has(identityOf(idOf(object))));
    expect(obsolete.map(({ object }) => `${object.kind} ${object.metadata.name}`)).toEqual(
      expect.arrayContaining([
        "Deployment net-kourier-controller",
        "Service kourier",
        "Job cleanup-serving-serving-1.22.1",
      ]),
    );
  });

  describe("on a server", () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await startEmbedded("knative-releases", { nodes: { count: 1 } });
    });
    afterAll(() => server.close());

    /** Everything that changes the shape of an object, at once. */
    const wishes = {
      registry: { default: `registry.local/$${"{NAME}"}:v1`, imagePullSecrets: [{ name: "pull" }] },
      "high-availability": { replicas: 2 },
      resources: [{ container: "controller", limits: { cpu: 1 } }],
      namespace: { labels: { a: "b" } },
      podDisruptionBudgets: [{ name: "activator-pdb", maxUnavailable: "20%" }],
      services: [{ name: "activator-service", labels: { a: "b" } }],
    };
    const override = {
      replicas: 3,
      labels: { a: "b" },
      annotations: { c: "d" },
      nodeSelector: { disk: "ssd" },
      hostNetwork: true,
      tolerations: [{ key: "dedicated", operator: "Exists" }],
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" }],
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [] }] } },
      },
    };

    it.each<[string, Component]>([
      [
        "serving",
        serving({
          ...wishes,
          ingress: { kourier: { enabled: true, "service-type": "NodePort", "https-port": 30_443 } },
          "controller-custom-certs": { type: "ConfigMap", name: "certs" },
          security: { securityGuard: { enabled: true } },
          config: { logging: { "loglevel.controller": "debug" } },
          workloads: [
            {
              name: "controller",
              ...override,
              env: [{ container: "controller", envVars: [{ name: "A", value: "b" }] }],
              readinessProbes: [{ container: "controller", periodSeconds: 7 }],
              livenessProbes: [{ container: "controller" }],
            },
            { name: "storage-version-migration-serving-", labels: { a: "b" } },
          ],
        }),
      ],
      [
        "eventing",
        eventing({ ...wishes, defaultBrokerClass: "Other", workloads: [{ name: "eventing-controller", ...override }] }),
      ],
    ])("%s with every wish at once is accepted, object by object", async (_, component) => {
      const engine = createApplyEngine({ client: server.client, fieldManager: "test", fieldValidation: "Strict" });
      const { objects } = await install(component);
      // Who owns it must exist, and does not here.
      const free = objects.map((object) => ({
        object: { ...object, metadata: { ...object.metadata, ownerReferences: [] } },
      }));
      const report = await engine.apply({ wishes: free }, { patience: 30_000 });
      const wrong = report.objects.filter(({ action }) => action !== "created" && action !== "updated");
      expect(wrong.map(({ id, action, message }) => `${id.kind} ${id.name}: ${action}, ${message}`)).toEqual([]);
      const again = await engine.plan({ wishes: free });
      expect(
        again.objects.filter(({ action }) => action !== "unchanged").map(({ id }) => `${id.kind} ${id.name}`),
      ).toEqual([]);
    });
  });
});
