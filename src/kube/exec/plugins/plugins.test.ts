import { afterEach, describe, expect, it } from "vitest";
import type { Secret } from "#api/core";
import { thrown } from "../../../../test/support/thrown.ts";
import { kubeconfigFor, kubeconfigText } from "../../config/index.ts";
import { CERTIFICATE, PRIVATE_KEY, scriptedServer } from "../../testing/scripted-server.ts";
import { EXEC_V1, EXEC_V1BETA1 } from "../config.ts";
import {
  inferredNamespace,
  PluginError,
  type PluginName,
  type Reading,
  type ReadingOptions,
  readingOf,
  runPlugin,
} from "./index.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const base64 = (text: string) => Buffer.from(text).toString("base64");

function secret(data: Record<string, string>): Secret {
  const encoded = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)]));
  return { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace: "ns" }, data: encoded };
}

const options: ReadingOptions = { namespace: "inferred", managedServiceAccount: "msa" };

const complaint = (work: () => unknown) => thrown(PluginError, work).message;

describe("which Secret a plugin reads", () => {
  it.each<[PluginName, object, string]>([
    ["secretreader", { clusterName: "c1" }, "inferred/c1"],
    ["kubeconfig-secretreader", { name: "s", key: "k" }, "inferred/s"],
    ["kubeconfig-secretreader", { name: "s", key: "k", namespace: "other" }, "other/s"],
    ["token-secretreader", { secretName: " s ", secretNamespace: "other", key: "k" }, "other/s"],
    ["cp-creds", { clusterName: "c1" }, "inferred/c1-msa"],
  ])("%s %j: %s", (plugin, config, expected) => {
    const { namespace, name } = readingOf(plugin, config, options);
    expect(`${namespace}/${name}`).toBe(expected);
  });

  it.each<[PluginName, unknown, string]>([
    ["secretreader", undefined, "missing ExecCredential.Spec.Cluster.Config"],
    ["secretreader", [], "invalid ExecCredential.Spec.Cluster.Config: it is not an object"],
    ["secretreader", {}, "missing clusterName in ExecCredential.Spec.Cluster.Config"],
    ["secretreader", { clusterName: 5 }, "invalid ExecCredential.Spec.Cluster.Config: clusterName is not a string"],
    ["kubeconfig-secretreader", { key: "k" }, "missing name in ExecCredential.Spec.Cluster.Config"],
    ["kubeconfig-secretreader", { name: "s" }, "missing key in ExecCredential.Spec.Cluster.Config"],
    [
      "token-secretreader",
      { secretName: "s", key: "k" },
      "extensions must include secretName, secretNamespace and key",
    ],
    ["cp-creds", {}, "missing clusterName in ExecCredential.Spec.Cluster.Config"],
  ])("%s %j: %s", (plugin, config, message) => {
    expect(complaint(() => readingOf(plugin, config, options))).toBe(message);
  });

  it("cannot be said by cp-creds without a service account", () => {
    expect(complaint(() => readingOf("cp-creds", { clusterName: "c" }, { namespace: "n" }))).toBe(
      "managed-serviceaccount name is required",
    );
  });
});

describe("a token in a Secret", () => {
  it.each<[PluginName, object, string]>([
    ["secretreader", { clusterName: "c1" }, 'secret inferred/c1 missing "token" key'],
    ["token-secretreader", { secretName: "s", secretNamespace: "n", key: "k" }, 'secret n/s missing "k" key'],
    ["cp-creds", { clusterName: "c1" }, 'secret inferred/c1-msa missing or empty "token" key'],
  ])("is read by %s, and missed", (plugin, config, message) => {
    const reading = readingOf(plugin, config, options);
    expect(reading.credential(secret({ token: "t", k: "t" }))).toEqual({ token: "t" });
    expect(complaint(() => reading.credential(secret({ token: "", k: "" })))).toBe(message);
  });
});

describe("a kubeconfig in a Secret", () => {
  const PEM = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
  const reading = (context?: string): Reading =>
    readingOf(
      "kubeconfig-secretreader",
      { name: "s", key: "k", namespace: "ns", ...(context && { context }) },
      options,
    );
  const yaml = (user: string, more = "") => `
current-context: c
contexts: [{ name: c, context: { cluster: x, user: u } }, { name: d, context: { user: nobody } }]
users: [{ name: u, user: { ${user} } }]
${more}`;
  const read = (text: string, context?: string) => reading(context).credential(secret({ k: text }));
  const pair = `client-certificate-data: ${base64(PEM)}, client-key-data: ${base64(PEM)}`;

  it.each([
    ["a token", "token: t", { token: "t" }],
    ["a certificate", pair, { cert: PEM, key: PEM }],
    ["both", `token: t, ${pair}`, { token: "t", cert: PEM, key: PEM }],
    ["a token, and a program that is not run", "token: t, exec: { command: rm }", { token: "t" }],
  ])("gives %s", (_, user, credential) => {
    expect(read(yaml(user))).toEqual(credential);
  });

  it.each<[string, string, string | undefined, string]>([
    ["no key", "", undefined, 'secret ns/s missing "k" key'],
    [
      "no YAML",
      "{",
      undefined,
      "failed to parse kubeconfig from secret ns/s: kubeconfig secret ns/s is not valid YAML",
    ],
    [
      "extensions",
      yaml("token: t", "extensions: [{ name: a, extension: {} }]"),
      undefined,
      "kubeconfig extensions are not supported",
    ],
    ["no context", "users: []", undefined, "no context specified and no current-context in kubeconfig"],
    ["another context", yaml("token: t"), "z", 'context "z" not found in kubeconfig'],
    ["a missing user", yaml("token: t"), "d", 'user "nobody" not found in kubeconfig'],
    [
      "a lone key",
      yaml(`client-key-data: ${base64(PEM)}`),
      undefined,
      'client-key-data found but no client-certificate-data in user "u"',
    ],
    [
      "a lone certificate",
      yaml(`client-certificate-data: ${base64(PEM)}`),
      undefined,
      'client-certificate-data found but no client-key-data in user "u"',
    ],
    [
      "files",
      yaml("client-certificate: /c, client-key: /k"),
      undefined,
      "client-certificate file path is not supported; use client-certificate-data",
    ],
    [
      "a program only",
      yaml("exec: { command: rm }"),
      undefined,
      'no authentication method found in user "u" (neither token nor client-certificate-data/client-key-data)',
    ],
  ])("is refused with %s", (_, text, context, message) => {
    expect(complaint(() => read(text, context))).toContain(message);
  });
});

/** A file system of a test. */
const files = (content: Record<string, string>) => async (path: string) => {
  const found = content[path];
  if (found === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: "ENOENT" });
  return found;
};

describe("the namespace that a plugin means", () => {
  const NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
  const kubeconfig = kubeconfigText(kubeconfigFor({ name: "hub", server: "https://h", namespace: "of-context" }));
  const bare = kubeconfigText(kubeconfigFor({ name: "hub", server: "https://h" }));
  const inPod = { KUBERNETES_SERVICE_HOST: "10.0.0.1" };

  it.each<[PluginName, string, Record<string, string>, Record<string, string>, string]>([
    [
      "secretreader",
      "that of the context",
      { KUBECONFIG: "/k" },
      { "/k": kubeconfig, [NAMESPACE_FILE]: "pod" },
      "of-context",
    ],
    ["secretreader", "that of the Pod", inPod, { [NAMESPACE_FILE]: "pod\n" }, "pod"],
    ["secretreader", "that of the Pod's variable", { ...inPod, POD_NAMESPACE: "v" }, { [NAMESPACE_FILE]: "pod" }, "v"],
    ["secretreader", "the default one", { KUBECONFIG: "/k" }, { "/k": bare, [NAMESPACE_FILE]: "pod" }, "default"],
    ["cp-creds", "that of the variable", { NAMESPACE: " v ", KUBECONFIG: "/k" }, { "/k": kubeconfig }, "v"],
    ["cp-creds", "that of the Pod", { KUBECONFIG: "/k" }, { "/k": kubeconfig, [NAMESPACE_FILE]: "pod" }, "pod"],
    ["cp-creds", "that of the context", { KUBECONFIG: "/k" }, { "/k": kubeconfig }, "of-context"],
    ["cp-creds", "the default one", {}, {}, "default"],
  ])("%s: %s", async (plugin, _, env, content, expected) => {
    expect(await inferredNamespace(plugin, { env, read: files(content) })).toBe(expected);
  });
});

describe("a plugin as a program", () => {
  const info = (cluster: unknown, apiVersion = EXEC_V1) =>
    JSON.stringify({ apiVersion, kind: "ExecCredential", spec: { cluster, interactive: false } });
  const cluster = { server: "https://spoke", config: { clusterName: "c1" } };

  async function hub(status: number, body: unknown) {
    const server = await scriptedServer((request) => request.reply(status, body));
    cleanups.push(() => server.stop());
    const { server: url, ca } = server.connection;
    const kubeconfig = kubeconfigFor({
      name: "hub",
      server: url,
      ...(ca && { ca }),
      token: "hub-token",
      namespace: "fleet",
    });
    return { server, read: files({ "/hub": kubeconfigText(kubeconfig) }) };
  }
  const run = (read: (path: string) => Promise<string>, text: string | undefined) =>
    runPlugin({
      plugin: "secretreader",
      env: { KUBECONFIG: "/hub", ...(text !== undefined && { KUBERNETES_EXEC_INFO: text }) },
      read,
    });

  it.each([EXEC_V1, EXEC_V1BETA1])("answers in the version that it was asked in: %s", async (apiVersion) => {
    const { server, read } = await hub(200, secret({ token: "t" }));
    expect(await run(read, info(cluster, apiVersion))).toBe(
      `{"kind":"ExecCredential","apiVersion":"${apiVersion}","spec":{"interactive":false},"status":{"token":"t"}}`,
    );
    expect(server.requests.map(({ path }) => path)).toEqual(["/api/v1/namespaces/fleet/secrets/c1"]);
  });

  it.each<[string, number, string]>([
    ["is not there", 404, 'failed to get secret fleet/c1: secrets "c1" not found'],
    ["is not for us", 403, 'failed to get secret fleet/c1: secrets "c1" is forbidden'],
  ])("says so when the Secret %s", async (_, code, message) => {
    const { read } = await hub(code, { kind: "Status", code, message: "hush" });
    await expect(run(read, info(cluster))).rejects.toThrow(message);
  });

  it.each<[string, string | undefined, string]>([
    ["nothing", undefined, "failed to read KUBERNETES_EXEC_INFO: KUBERNETES_EXEC_INFO env var is unset or empty"],
    ["no JSON", "{", "failed to read KUBERNETES_EXEC_INFO: decode: it is not JSON"],
    ["another kind", '{"kind":"Pod"}', "failed to read KUBERNETES_EXEC_INFO: decode: it is not an ExecCredential"],
    [
      "another version",
      info(cluster, "client.authentication.k8s.io/v1alpha1"),
      "unexpected ExecCredential type (expect v1)",
    ],
    [
      "no cluster",
      info(undefined),
      "failed to read KUBERNETES_EXEC_INFO: ExecCredential does not contain cluster information",
    ],
    ["no server", info({ server: "null" }), "spec.cluster.server is missing in KUBERNETES_EXEC_INFO"],
    ["no words for plugins", info({ server: "https://s" }), "missing ExecCredential.Spec.Cluster.Config"],
  ])("that is told %s says so", async (_, text, message) => {
    const { server, read } = await hub(200, secret({ token: "t" }));
    await expect(run(read, text)).rejects.toThrow(message);
    expect(server.requests).toEqual([]);
  });

  it("does not run a program to reach the hub, because it may be that program", async () => {
    const config = kubeconfigFor({ name: "hub", server: "https://h" });
    const user = { name: "hub", exec: { command: "capstan", apiVersion: EXEC_V1 } };
    const read = files({ "/hub": kubeconfigText({ ...config, users: [user] }) });
    await expect(run(read, info(cluster))).rejects.toThrow(
      "failed to build kube client config: user hub in /hub gets its credentials from a program (capstan)",
    );
  });

  it("reads with the service account of its Pod where it runs in one", async () => {
    const { server } = await hub(200, secret({ token: "t" }));
    const folder = "/var/run/secrets/kubernetes.io/serviceaccount";
    const read = files({
      [`${folder}/ca.crt`]: CERTIFICATE,
      [`${folder}/token`]: "sa",
      [`${folder}/namespace`]: "pod",
    });
    const env = {
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(server.port),
      KUBERNETES_EXEC_INFO: info(cluster),
    };
    await runPlugin({ plugin: "secretreader", env, read });
    expect(server.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ["/api/v1/namespaces/pod/secrets/c1", "Bearer sa"],
    ]);
  });

  it("gives a certificate with its key", async () => {
    const kubeconfig = kubeconfigFor({ name: "u", server: "https://s", cert: CERTIFICATE, key: PRIVATE_KEY });
    const { read } = await hub(200, secret({ k: kubeconfigText(kubeconfig) }));
    const text = await runPlugin({
      plugin: "kubeconfig-secretreader",
      env: { KUBECONFIG: "/hub", KUBERNETES_EXEC_INFO: info({ server: "https://s", config: { name: "s", key: "k" } }) },
      read,
    });
    expect(JSON.parse(text).status).toEqual({ clientCertificateData: CERTIFICATE, clientKeyData: PRIVATE_KEY });
  });
});
