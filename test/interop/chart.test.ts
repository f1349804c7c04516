/** The chart of the hub under Helm 3 and 4: what it renders, what it refuses, and its life on a cluster. */
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { ConfigMap, Namespace, Pod } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { bootstrapObjects } from "#features/registration/hub";
import { createApplyEngine, isNotFound, manifestsIn } from "#kube";
import { eventually } from "../support/eventually.ts";
import { missingOf, type Outcome, type Stage, stage, stranger } from "./strangers.ts";

const chart = fileURLToPath(new URL("../../charts/capstan-hub", import.meta.url));
const NAMESPACE = "knative-operator";
const HUB = `${NAMESPACE}/capstan-hub`;
const PROVIDER_FILE = "clusterprofile-provider-file";

const BUILTIN = { name: "token-secretreader", builtin: "token-secretreader" };
const program = (command: string) => ({
  name: "plugin",
  execConfig: { apiVersion: "client.authentication.k8s.io/v1", command, provideClusterInfo: true },
});
const plugin = (mountPath = "/access-plugins/one", name = "one") => ({ name, image: "example.com/one:1.0", mountPath });
const multicluster = (values: object) => ({ knative_operator: { multicluster: { enabled: true, ...values } } });
const withProviders = (...providers: object[]) => ({ accessProvidersConfig: { providers } });
/** As the documentation of the Knative operator shows it. */
const WITH_PLUGIN = multicluster({ ...withProviders(program("/access-plugins/one/plugin")), plugins: [plugin()] });
const REFUSED: readonly [why: string, values: object, said: RegExp][] = [
  ["no provider although it is enabled", multicluster({}), /accessProvidersConfig names no provider/],
  ["an empty list of providers", multicluster(withProviders()), /accessProvidersConfig names no provider/],
  [
    "a relative mountPath",
    multicluster({ ...withProviders(BUILTIN), plugins: [plugin("access-plugins/one")] }),
    /mountPath "access-plugins\/one" of plugin "one" is relative/,
  ],
  [
    "a mountPath over the program itself",
    multicluster({ ...withProviders(BUILTIN), plugins: [plugin("/..")] }),
    /would hide the hub's own files/,
  ],
  [
    "two plugins in one place",
    multicluster({ ...withProviders(BUILTIN), plugins: [plugin(), plugin("/access-plugins/one/", "two")] }),
    /plugin "two" has the name or the mountPath of another/,
  ],
  [
    "a command where no plugin is",
    multicluster({ ...withProviders(program("/usr/bin/plugin")), plugins: [plugin()] }),
    /command "\/usr\/bin\/plugin" of provider "plugin" is not below the mountPath of any plugin/,
  ],
  [
    "a command beside a plugin, whose name only begins alike",
    multicluster({ ...withProviders(program("/access-plugins/one-more/plugin")), plugins: [plugin()] }),
    /is not below the mountPath/,
  ],
  [
    "a command that is the mountPath itself",
    multicluster({ ...withProviders(program("/access-plugins/one")), plugins: [plugin()] }),
    /is not below the mountPath/,
  ],
  [
    "a command that leads out of its plugin again",
    multicluster({ ...withProviders(program("/access-plugins/one/../../bin/sh")), plugins: [plugin()] }),
    /is not below the mountPath/,
  ],
  ["a value that does not exist", { knative_operator: { multicluster: { enable: true } } }, /enable/],
  ["a field of a provider that does not exist", multicluster(withProviders({ ...BUILTIN, exec: {} })), /exec/],
  [
    "an interval that is none",
    multicluster({ remoteDeploymentsPollInterval: "soon" }),
    /remoteDeploymentsPollInterval/,
  ],
];

describe.each(["helm3", "helm4"])("the chart of the hub under %s", (name) => {
  const helm = stranger(name);
  const missing = missingOf({ paths: [helm] });
  let here: Stage;
  let files = 0;

  beforeAll(async () => {
    if (!missing) here = await stage(`chart-${name}`);
  });
  afterAll(() => here?.close());

  /** Runs Helm with values that are too nested for `--set`. */
  const helmWith = async (values: object | undefined, ...args: string[]): Promise<Outcome> => {
    if (!values) return here.run(helm, args);
    const file = join(here.dir, `values-${++files}.json`);
    await writeFile(file, JSON.stringify(values));
    return here.run(helm, [...args, "-f", file]);
  };
  const succeeding = async (values: object | undefined, ...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await helmWith(values, ...args);
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    return stdout;
  };
  const rendering = ["template", "capstan", chart, "-n", NAMESPACE, "--kube-version", "1.35.0"];
  const rendered = async (values: object = {}, ...more: string[]): Promise<readonly DynamicObject[]> =>
    objectsIn(await succeeding(values, ...rendering, ...more));
  const waiting = ["-n", NAMESPACE, "--wait", "--timeout", "60s"];

  it.skipIf(missing)(`has nothing to complain about${missing ? ` (${missing})` : ""}`, async () => {
    for (const values of [{}, WITH_PLUGIN]) await succeeding(values, "lint", chart, "--strict");
  });

  it.skipIf(missing)("runs the hub as nobody in particular, on a filesystem that it cannot write", async () => {
    const { metadata, spec } = deploymentIn(await rendered());
    const { template } = spec;
    const [container] = template.spec.containers;
    expect(metadata.namespace).toBe(NAMESPACE);
    expect(container).toMatchObject({
      image: expect.stringMatching(/^capstan:\d/),
      args: [
        "hub",
        "--no-webhooks",
        "--kubeconfig=/etc/capstan/kubeconfig",
        "--leader-elect",
        `--leader-elect-namespace=${NAMESPACE}`,
        "--metrics-address=:8080",
        "--knative-cache=/var/cache/capstan/knative-releases",
        "--remote-deployments-poll-interval=10s",
      ],
      env: [{ name: "KUBERNETES_MIN_VERSION", value: "v1.25.0" }],
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      },
      livenessProbe: { httpGet: { path: "/healthz", port: "metrics" } },
      readinessProbe: { httpGet: { path: "/readyz", port: "metrics" } },
    });
    expect(template.spec).toMatchObject({
      serviceAccountName: "capstan-hub",
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    });
    expect(template.spec.volumes?.map((volume) => volume.name)).toEqual(["config", "cache"]);
  });

  it.skipIf(missing)("takes the values of the Knative operator's chart", async () => {
    const objects = await rendered({
      knative_operator: {
        kubernetes_min_version: "",
        multicluster: { remoteDeploymentsPollInterval: "30s" },
        knative_operator: {
          image: "registry.example.com/hub",
          tag: "v9",
          affinity: { nodeAffinity: {} },
          tolerations: [{ key: "hub", operator: "Exists" }],
          resources: { limits: { memory: "2Gi" } },
          annotations: { of: "deployment" },
          podAnnotations: { of: "pod" },
          securityContext: { runAsUser: 7 },
          containerSecurityContext: { privileged: false },
        },
        operator_webhook: { image: "example.com/webhook" },
      },
    });
    const { metadata, spec } = deploymentIn(objects);
    const { template } = spec;
    const [container] = template.spec.containers;
    expect(metadata.annotations).toEqual({ of: "deployment" });
    expect(template.metadata?.annotations).toEqual({ of: "pod" });
    expect(template.spec).toMatchObject({
      affinity: { nodeAffinity: {} },
      tolerations: [{ key: "hub", operator: "Exists" }],
      securityContext: { runAsUser: 7, runAsNonRoot: true },
    });
    expect(container).toMatchObject({
      image: "registry.example.com/hub:v9",
      resources: { limits: { memory: "2Gi" } },
      securityContext: { privileged: false, readOnlyRootFilesystem: true },
    });
    expect(container?.env).toBeUndefined();
    expect(container?.args).toContain("--remote-deployments-poll-interval=30s");
  });

  it.skipIf(missing)("mounts the provider file and every plugin, and starts anew when the file changes", async () => {
    const objects = await rendered(WITH_PLUGIN);
    const file = objects.find(({ metadata }) => metadata.name === PROVIDER_FILE) as ConfigMap | undefined;
    expect(JSON.parse(file?.data?.["config.json"] ?? "")).toEqual({
      providers: [program("/access-plugins/one/plugin")],
    });
    const { template } = deploymentIn(objects).spec;
    const [container] = template.spec.containers;
    expect(container?.args).toContain("--clusterprofile-provider-file=/etc/cluster-inventory/config.json");
    expect(container).toMatchObject({
      volumeMounts: [
        { name: "config", mountPath: "/etc/capstan", readOnly: true },
        { name: "cache", mountPath: "/var/cache/capstan" },
        { name: "access-config", mountPath: "/etc/cluster-inventory", readOnly: true },
        { name: "plugin-one", mountPath: "/access-plugins/one", readOnly: true },
      ],
    });
    expect(template.spec.volumes).toEqual([
      { name: "config", configMap: { name: "capstan-hub" } },
      { name: "cache", emptyDir: {} },
      { name: "access-config", configMap: { name: PROVIDER_FILE } },
      { name: "plugin-one", image: { reference: "example.com/one:1.0", pullPolicy: "IfNotPresent" } },
    ]);

    const checksum = "checksum/provider-file";
    const sumOf = (given: readonly DynamicObject[]) =>
      deploymentIn(given).spec.template.metadata?.annotations?.[checksum];
    const again = await rendered(WITH_PLUGIN);
    const other = await rendered(multicluster(withProviders(BUILTIN)));
    expect(sumOf(again)).toBe(sumOf(objects));
    expect(sumOf(other)).not.toBe(sumOf(objects));
  });

  it.skipIf(missing).each(REFUSED)("refuses %s", async (_, values, said) => {
    const { code, stderr } = await helmWith(values, ...rendering);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(said);
  });

  it.skipIf(missing)("asks for Kubernetes 1.35 only where images are mounted", async () => {
    const manifests = { hub: { knativeManifests: { image: "example.com/knative:1.23", path: "var/run/ko" } } };
    for (const values of [WITH_PLUGIN, manifests]) {
      const { code, stderr } = await helmWith(values, ...rendering, "--kube-version", "1.34.2");
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/takes Kubernetes 1.35 or later on the hub; this one is v1.34.2/);
      await rendered(values, "--kube-version", "v1.35.1-gke.100");
    }
    await rendered(multicluster(withProviders(BUILTIN)), "--kube-version", "1.30.0");
    const [container] = deploymentIn(await rendered(manifests)).spec.template.spec.containers;
    expect(container?.args).toContain("--knative-manifests=/knative-manifests/var/run/ko");
  });

  it.skipIf(missing)("gives no right to everything, and none to escalate where nothing is installed", async () => {
    const escalating = async (values: object) => {
      const rules = rulesIn(await rendered(values));
      expect(rules.filter((rule) => JSON.stringify(rule).includes('"*"'))).toEqual([]);
      return rules.filter(({ verbs }) => verbs.includes("escalate") || verbs.includes("bind")).length;
    };
    expect(await escalating({})).toBe(1);
    expect(await escalating({ hub: { localKnative: false } })).toBe(0);
  });

  it.skipIf(missing)(
    "may delete ConfigMaps only where the Knative operator keeps its notes, if it runs there, and by name those of detached clusters",
    async () => {
      const writing = async (...more: string[]) => {
        const objects = await rendered({ hub: { localKnative: false } }, ...more);
        const writers = objects.filter((object) =>
          rulesIn([object]).some(
            ({ resources, resourceNames, verbs }) =>
              resources.includes("configmaps") && !resourceNames && verbs.includes("delete"),
          ),
        );
        return writers.map(({ kind, metadata }) => `${kind} in ${metadata.namespace ?? "all namespaces"}`);
      };
      expect(await writing()).toEqual([`Role in ${NAMESPACE}`]);
      expect(await writing("-n", "elsewhere")).toEqual(["ClusterRole in all namespaces"]);
    },
  );

  it.skipIf(missing)("makes the identity for joining clusters as `capstan` does, unless told", async () => {
    const wanted = bootstrapObjects();
    const made = await rendered();
    for (const { kind, metadata, ...content } of wanted) {
      const found = made.find((object) => object.kind === kind && object.metadata.name === metadata.name);
      expect(found, `${kind} ${metadata.name}`).toMatchObject(content);
    }
    const without = await rendered({ hub: { bootstrapIdentity: false } });
    expect(made).toHaveLength(without.length + wanted.length);
    const sameNamespace = await rendered({}, "-n", "open-cluster-management");
    expect(sameNamespace.filter(({ kind }) => kind === "Namespace")).toEqual([]);
  });

  it.skipIf(missing)("adds what others want beside it, and fills in what is asked for", async () => {
    const text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: '{{ .Release.Name }}-text'\n";
    const map = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "map" },
      data: { in: "{{ .Release.Namespace }}" },
    };
    const objects = await rendered({ extraObjects: [text, map] });
    expect(objects.filter(({ kind, metadata }) => kind === "ConfigMap" && !metadata.labels)).toEqual([
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "capstan-text" } },
      { ...map, data: { in: NAMESPACE } },
    ]);
  });

  it.skipIf(missing)("is installed, changed and removed, and leaves the definitions alone", async () => {
    const { client } = here.server;
    const notes = await succeeding({}, "install", "capstan", chart, ...waiting, "--create-namespace");
    expect(notes).toContain("rollout status deployment/capstan-hub");
    const available = async () => (await client.get(Deployment, HUB)).status?.availableReplicas;
    expect(await available()).toBe(1);
    const podNames = async () =>
      (await client.list(Pod, { namespace: NAMESPACE })).items
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.name);
    const before = await podNames();

    await succeeding(WITH_PLUGIN, "upgrade", "capstan", chart, ...waiting);
    await eventually(async () => {
      const after = await podNames();
      expect(after).toHaveLength(1);
      expect(before).not.toContain(after[0]);
    });

    await succeeding(undefined, "uninstall", "capstan", ...waiting);
    await expect(client.get(Deployment, HUB)).rejects.toSatisfy(isNotFound);
    expect((await client.get(Namespace, "open-cluster-management")).metadata.deletionTimestamp).toBeUndefined();
    await expect(client.get(ConfigMap, `${NAMESPACE}/${PROVIDER_FILE}`)).rejects.toSatisfy(isNotFound);
    const carried = (await readdir(join(chart, "crds"))).map((file) => file.replace(/\.yaml$/, "").split("_"));
    expect((await client.list(CustomResourceDefinition)).items.map(({ metadata }) => metadata.name)).toEqual(
      carried.map(([group, plural]) => `${plural}.${group}`).sort(),
    );
  });

  it.skipIf(missing)(
    "has no field that the server does not know, and the same whether Helm or we apply it",
    async () => {
      const { client } = here.server;
      const home = `same-${name}`;
      await client.create(Namespace, { metadata: { name: home } });
      const text = await succeeding(WITH_PLUGIN, ...rendering, "-n", home);
      const engine = createApplyEngine({ client, fieldManager: "test", fieldValidation: "Strict" });
      const plan = async () => {
        const { objects, problem } = await engine.plan({ wishes: manifestsIn(text, "chart").manifests }, {});
        expect(problem).toBeUndefined();
        return objects.map(({ id, action, message, changes }) => ({
          what: `${id.kind} ${id.name}`,
          action,
          message,
          changes,
        }));
      };
      const first = await plan();
      expect(first.filter(({ what, action }) => action !== "created" && !what.startsWith("Namespace"))).toEqual([]);

      await succeeding(WITH_PLUGIN, "install", "capstan", chart, "-n", home, "--wait", "--timeout", "60s");
      expect((await plan()).filter(({ changes }) => changes.length > 0)).toEqual([]);
      await succeeding(undefined, "uninstall", "capstan", "-n", home, "--wait", "--timeout", "60s");
    },
  );
});

function objectsIn(text: string): readonly DynamicObject[] {
  const { manifests, problems } = manifestsIn(text, "chart");
  expect(problems).toEqual([]);
  return manifests.map(({ object }) => object);
}

function deploymentIn(objects: readonly DynamicObject[]): Deployment {
  const found = objects.find(({ kind }) => kind === "Deployment");
  if (!found) throw new Error("the chart has no Deployment");
  return found as unknown as Deployment;
}

interface Rule {
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

function rulesIn(objects: readonly DynamicObject[]): Rule[] {
  return objects.flatMap(({ rules }) => (rules as Rule[] | undefined) ?? []);
}
