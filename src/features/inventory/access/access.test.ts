import { describe, expect, it } from "vitest";
import type { AccessProvider, ClusterProfile } from "#api/inventory";
import { EXEC_EXTENSION, EXEC_V1 } from "#kube";
import { createCertificateAuthority } from "#lib/pki";
import {
  type Access,
  type AccessFailure,
  type AccessOptions,
  accessTo,
  isAccessFailure,
  type Provider,
} from "./index.ts";

const ARGS = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
const ENVS = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";
const AUTHORITY = createCertificateAuthority({ commonName: "spoke", now: new Date() }).certificate;
const DATA = Buffer.from(AUTHORITY).toString("base64");

type Cluster = NonNullable<AccessProvider["cluster"]>;
const offer = (name: string, cluster: Partial<Cluster> = {}): AccessProvider => ({
  name,
  cluster: { server: `https://${name}:6443`, ...cluster },
});

const profile = (status: ClusterProfile["status"]): ClusterProfile => ({
  apiVersion: "multicluster.x-k8s.io/v1alpha1",
  kind: "ClusterProfile",
  metadata: { name: "spoke-1", namespace: "fleet" },
  spec: { clusterManager: { name: "m" } },
  ...(status && { status }),
});

const provider = (name: string, more: Partial<Provider> = {}): Provider => ({
  name,
  exec: {
    apiVersion: EXEC_V1,
    command: "/plugin",
    args: ["-v"],
    env: [
      { name: "Z", value: "file" },
      { name: "A", value: "file" },
    ],
    provideClusterInfo: true,
    interactiveMode: "Never",
  },
  argsPolicy: "Ignore",
  envPolicy: "Ignore",
  ...more,
});

function granted(result: Access | AccessFailure): Access {
  if (isAccessFailure(result)) throw new Error(`${result.reason}: ${result.message}`);
  return result;
}
const to = (offers: AccessProvider[], providers: Provider[], options?: AccessOptions) =>
  granted(accessTo(profile({ accessProviders: offers }), providers, options));

function refused(result: Access | AccessFailure): AccessFailure {
  if (!isAccessFailure(result)) throw new Error("access was granted");
  return result;
}

describe("the provider", () => {
  it("is the first of the file that the profile offers, in whatever order it does", () => {
    expect(to([offer("b"), offer("a")], [provider("x"), provider("a"), provider("b")])).toMatchObject({
      provider: "a",
      server: "https://a:6443",
    });
  });

  it("may be offered in the older field; the newer one counts where both have it", () => {
    const both = profile({
      credentialProviders: [offer("a", { server: "https://old" }), offer("b", { server: "https://only-old" })],
      accessProviders: [offer("a", { server: "https://new" })],
    });
    expect(granted(accessTo(both, [provider("a")]))).toMatchObject({ server: "https://new", notes: [] });
    expect(granted(accessTo(both, [provider("b")]))).toMatchObject({
      server: "https://only-old",
      notes: ["it offers b in the deprecated field credentialProviders; use accessProviders"],
    });
  });

  it.each<[string, ClusterProfile["status"], Provider[], AccessFailure]>([
    [
      "the profile offers nothing that the file has",
      { accessProviders: [offer("b"), offer("a")] },
      [provider("x"), provider("y")],
      {
        reason: "MulticlusterDisabled",
        message:
          'no matching cluster accessor found for cluster profile "spoke-1": it offers a, b, the provider file has x, y',
      },
    ],
    [
      "the profile offers nothing",
      undefined,
      [],
      {
        reason: "MulticlusterDisabled",
        message:
          'no matching cluster accessor found for cluster profile "spoke-1": it offers none, the provider file has none',
      },
    ],
    [
      "the provider has no program",
      { accessProviders: [offer("a")] },
      [{ name: "a", argsPolicy: "Ignore", envPolicy: "Ignore" }],
      {
        reason: "AccessProviderFailed",
        message: 'ClusterProfile fleet/spoke-1: no exec config found for provider "a"',
      },
    ],
    [
      "an extension is there twice",
      {
        accessProviders: [
          offer("a", { extensions: [EXEC_EXTENSION, EXEC_EXTENSION].map((name) => ({ name, extension: {} })) }),
        ],
      },
      [provider("a")],
      {
        reason: "AccessProviderFailed",
        message:
          "ClusterProfile fleet/spoke-1: the extension client.authentication.k8s.io/exec is there twice; remove one",
      },
    ],
    [
      "the server has no address",
      { accessProviders: [{ name: "a" }] },
      [provider("a")],
      {
        reason: "RemoteClientCreationFailed",
        message: "ClusterProfile fleet/spoke-1: access provider a names no server",
      },
    ],
    [
      "the address is none",
      { accessProviders: [offer("a", { server: "host:6443" })] },
      [provider("a")],
      {
        reason: "RemoteClientCreationFailed",
        message: "ClusterProfile fleet/spoke-1: access provider a has a server that is no URL of http or https",
      },
    ],
    [
      "the authorities are none",
      { accessProviders: [offer("a", { "certificate-authority-data": "aHVzaA==" })] },
      [provider("a")],
      {
        reason: "RemoteClientCreationFailed",
        message:
          "ClusterProfile fleet/spoke-1: access provider a has a certificate-authority-data that holds no certificate",
      },
    ],
    [
      "the proxy is of another kind",
      { accessProviders: [offer("a", { "proxy-url": "socks5://me:hush@p" })] },
      [provider("a")],
      {
        reason: "RemoteClientCreationFailed",
        message: "ClusterProfile fleet/spoke-1: access provider a has a proxy-url that is no URL of http or https",
      },
    ],
  ])("is missing when %s", (_, status, providers, failure) => {
    expect(refused(accessTo(profile(status), providers))).toEqual(failure);
  });
});

describe("the way in", () => {
  const full: Partial<Cluster> = {
    server: "https://s:9092/cluster1/",
    "certificate-authority-data": DATA,
    "certificate-authority": "/a/file",
    "tls-server-name": "n",
    "insecure-skip-tls-verify": true,
    "proxy-url": "http://p:3128",
    "disable-compression": true,
    extensions: [
      { name: EXEC_EXTENSION, extension: { clusterName: "c1" } },
      { name: "other", extension: {} },
    ],
  };

  it("is what the profile says of the cluster, and the plugin is told the same", () => {
    expect(to([offer("a", full)], [provider("a")])).toMatchObject({
      server: "https://s:9092/cluster1",
      ca: AUTHORITY,
      serverName: "n",
      proxy: "http://p:3128",
      credentials: {
        exec: provider("a").exec,
        cluster: {
          server: "https://s:9092/cluster1/",
          "certificate-authority-data": DATA,
          "tls-server-name": "n",
          "proxy-url": "http://p:3128",
          "disable-compression": true,
          config: { clusterName: "c1" },
        },
      },
      notes: [
        "it names a file with authorities, which nobody else can read",
        "it asks for an unchecked server; it is checked",
      ],
    });
  });

  it("leads to an unchecked server only where that is allowed", () => {
    expect(to([offer("a", full)], [provider("a")])).not.toHaveProperty("insecure");
    const allowed = to([offer("a", full)], [provider("a")], { allowInsecure: true });
    expect(allowed).toMatchObject({ insecure: true, credentials: { cluster: { "insecure-skip-tls-verify": true } } });
    expect(allowed).not.toHaveProperty("ca");
  });

  it("may need no program", () => {
    const { exec: _, ...bare } = provider("a");
    const builtin = { ...bare, builtin: "cp-creds", managedServiceAccount: "msa" } as const;
    expect(to([offer("a", full)], [builtin]).credentials).toEqual({
      builtin: "cp-creds",
      managedServiceAccount: "msa",
      config: { clusterName: "c1" },
    });
  });
});

describe("what a profile adds", () => {
  /** Also what an API server would not store: other stores do. */
  const added = (name: string, extension: unknown) => ({ name, extension: extension as Record<string, unknown> });
  const args = (extension: unknown) => offer("a", { extensions: [added(ARGS, extension)] });
  const envs = (extension: unknown) => offer("a", { extensions: [added(ENVS, extension)] });
  const execOf = ({ credentials }: Access) => ("exec" in credentials ? credentials.exec : undefined);

  it.each([
    ["a list", ["--x", "-v"]],
    ["an object with a list, which an API server can store", { args: ["--x", "-v"] }],
  ])("to the arguments stands behind the file's: %s", (_, extension) => {
    expect(execOf(to([args(extension)], [provider("a", { argsPolicy: "Append" })]))?.args).toEqual(["-v", "--x", "-v"]);
  });

  it("is not even read unless the file allows it", () => {
    expect(execOf(to([args(5)], [provider("a")]))?.args).toEqual(["-v"]);
    expect(execOf(to([envs(5)], [provider("a")]))?.env).toHaveLength(2);
  });

  it.each([
    ["AppendIfNotExists", ["Z=file", "A=file", "B=profile", "C=profile"]],
    ["Replace", ["Z=profile", "A=file", "B=profile", "C=profile"]],
  ] as const)("to the environment comes after the file's, by name: %s", (envPolicy, expected) => {
    const offered = envs({ C: "profile", B: "profile", Z: "profile" });
    const exec = execOf(to([offered], [provider("a", { envPolicy })]));
    expect(exec?.env.map(({ name, value }) => `${name}=${value}`)).toEqual(expected);
  });

  it("never reaches another cluster, however often it is asked for", () => {
    const providers = [provider("a", { argsPolicy: "Append", envPolicy: "Replace" })];
    const first = {
      extensions: [added(ARGS, ["--tenant=1"]), added(ENVS, { TENANT: "1" })],
    };
    const access = to([offer("a", first)], providers);
    expect(to([offer("a", first)], providers).fingerprint).toBe(access.fingerprint);
    expect(JSON.stringify(to([offer("a")], providers))).not.toMatch(/tenant/i);
    expect(providers).toEqual([provider("a", { argsPolicy: "Append", envPolicy: "Replace" })]);
  });

  it.each([
    [
      "arguments that are none",
      args(["a", 1]),
      "failed to unmarshal additional CLI args extension: it must be a list of strings",
    ],
    [
      "variables that are none",
      envs({ A: 1 }),
      "failed to unmarshal additional env vars extension: it must be a map of strings",
    ],
    [
      "LD_PRELOAD",
      envs({ LD_PRELOAD: "/evil.so" }),
      "a profile may not set LD_PRELOAD, because it decides what program runs",
    ],
    ["PATH", envs({ PATH: "/evil" }), "a profile may not set PATH, because it decides what program runs"],
  ])("is refused with %s", (_, offered, message) => {
    const providers = [provider("a", { argsPolicy: "Append", envPolicy: "Replace" })];
    expect(refused(accessTo(profile({ accessProviders: [offered] }), providers))).toEqual({
      reason: "AccessProviderFailed",
      message: `ClusterProfile fleet/spoke-1: ${message}`,
    });
  });
});

describe("the fingerprint", () => {
  const of = (cluster: Partial<Cluster>, given = provider("a")) => to([offer("a", cluster)], [given]).fingerprint;
  const plain = of({});

  it("is the same for the same way in, in whatever order it is written", () => {
    const one = { extensions: [{ name: EXEC_EXTENSION, extension: { a: 1, b: 2 } }] };
    const other = { extensions: [{ name: EXEC_EXTENSION, extension: { b: 2, a: 1 } }] };
    expect(of(one)).toBe(of(other));
  });

  it.each<[string, Partial<Cluster>]>([
    ["server", { server: "https://other" }],
    ["authorities", { "certificate-authority-data": DATA }],
    ["name", { "tls-server-name": "n" }],
    ["proxy", { "proxy-url": "http://p" }],
    ["words for the plugin", { extensions: [{ name: EXEC_EXTENSION, extension: { a: 1 } }] }],
  ])("is another for another %s", (_, cluster) => {
    expect(of(cluster)).not.toBe(plain);
  });

  it("is another for another program", () => {
    const { exec } = provider("a");
    expect(of({}, provider("a", exec ? { exec: { ...exec, args: ["-q"] } } : {}))).not.toBe(plain);
  });
});
