/** What the administrator's commands say when they cannot do it: one line, the right exit code, and nothing half done. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { managedClusterCrd } from "#api/cluster";
import { Namespace, ServiceAccount } from "#api/core";
import { kubeconfigFor, writeKubeconfig } from "#kube";
import { accountToken } from "../support/account-token.ts";
import { build, run } from "../support/command.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";

let folder: string;
let server: TestServer;
let hub: TestServer;
const files = { plain: "", hub: "", dead: "", poor: "", stranger: "" };

beforeAll(async () => {
  build();
  folder = await mkdtemp(join(tmpdir(), "capstan-administration-errors-"));
  [server, hub] = await Promise.all([startEmbedded("plain"), startEmbedded("errors-hub")]);
  await hub.client.create(CustomResourceDefinition, managedClusterCrd);
  await server.client.create(ServiceAccount, { metadata: { name: "poor", namespace: "default" } });
  const { url, authority: ca } = server;
  const token = await accountToken(server, "default/poor");
  const write = async (name: keyof typeof files, config: Parameters<typeof writeKubeconfig>[1]) => {
    files[name] = join(folder, name);
    await writeKubeconfig(files[name], config);
  };
  await write("plain", server.kubeconfig);
  await write("hub", hub.kubeconfig);
  await write("dead", kubeconfigFor({ name: "dead", server: `https://127.0.0.1:${await freePort()}`, token: "t" }));
  await write("poor", kubeconfigFor({ name: "poor", server: url, ca, token }));
  await write("stranger", kubeconfigFor({ name: "stranger", server: url, ca, token: "nonsense" }));
}, 120_000);

afterAll(async () => {
  await Promise.all([server?.close(), hub?.close()]);
  await rm(folder, { recursive: true, force: true });
});

/** A port on which nobody listens. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

const JOIN = ["join", "--hub-token", "t", "--hub-apiserver", "https://127.0.0.1:1", "--cluster-name", "c1"];
const without = (words: readonly string[], flag: string) => {
  const at = words.indexOf(flag);
  return [...words.slice(0, at), ...words.slice(at + 2)];
};

/** The last line on stderr says it; before it there may be talk. */
async function expectFailure(words: readonly string[], code: number, problem: string): Promise<void> {
  const ended = await run(...words);
  expect([ended.code, ended.stdout], ended.stderr).toEqual([code, ""]);
  expect(ended.stderr).toContain(problem);
  const lines = ended.stderr.trim().split("\n");
  expect(lines.filter((line) => line.startsWith("capstan: "))).toHaveLength(1);
  expect(lines.at(-1)).toMatch(/^capstan: /);
  expect(ended.stderr).not.toContain("    at ");
}

describe("wrong usage", () => {
  it.each<[words: string[], problem: string]>([
    [["init", "--bundle-version", "0.16.0"], "name another image with --image"],
    [["init", "--image", "a", "--image-registry", "b"], "leave --image-registry out"],
    [["init", "--resource-limits", "cpu=1"], "need --resource-qos-class ResourceRequirement"],
    [["init", "--resource-qos-class", "Much"], "Allowed choices are Default, BestEffort, ResourceRequirement"],
    [["init", "--resource-qos-class", "ResourceRequirement", "--resource-limits", "cpu"], "say it like cpu=500m"],
    [
      ["init", "--feature-gates", "Nothing=true"],
      'unknown feature gate "Nothing"; there are CleanUpCompletedManifestWork, ClusterProfile',
    ],
    [["init", "--registration-drivers", "csr,grpc"], '"grpc" is not here'],
    [["init", "--grpc-server", "x"], "by certificate requests (csr) only"],
    [["init", "--auto-approved-csr-identities", "bob"], "needs --feature-gates ManagedClusterAutoApproval=true"],
    [["init", "--timeout", "soon"], "It must be seconds, or a duration"],
    [["init", "--timeout", "0"], "It must be seconds, or a duration"],
    [["init", "--create-namespace=maybe"], "It must be true or false"],
    [["init", "--knative-removal-patience", "5"], "It must be a duration"],
    [["init", "-o", "yaml"], "Allowed choices are text, json"],
    [["init", "--sprokes"], "unknown option '--sprokes'"],
    [without(JOIN, "--hub-token"), "--hub-token <token>"],
    [without(JOIN, "--hub-apiserver"), "--hub-apiserver <url>"],
    [without(JOIN, "--cluster-name"), "--cluster-name <name>"],
    [[...JOIN, "--cluster-name", "<cluster_name>"], "is no cluster name"],
    [[...JOIN, "--hub-apiserver", "http://hub"], "It must be a URL like https://host:6443"],
    [[...JOIN, "--hub-token", "<your token data>"], "It must be a token"],
    [[...JOIN, "--mode", "hosted"], "needs --managed-cluster-kubeconfig"],
    [[...JOIN, "--managed-cluster-kubeconfig", "x"], "needs --mode hosted"],
    [[...JOIN, "--mode", "hosted", "--managed-cluster-kubeconfig", "x", "--singleton"], "do not go together"],
    [[...JOIN, "--registration-auth", "awsirsa"], '"awsirsa" is not here'],
    [[...JOIN, "--managed-cluster-arn", "arn:x"], "by certificate requests (csr) only"],
    [[...JOIN, "--proxy-url", "ftp://p"], "It must be a URL like http://host:3128"],
    [[...JOIN, "--proxy-ca-file", "x"], "--proxy-ca-file needs --proxy-url"],
    [[...JOIN, "--client-cert-expiration-seconds", "60"], "It must be 0, or at least 3600"],
    [[...JOIN, "--klusterlet-annotation", "x"], "say it like key=value"],
    [["accept"], "required option '--clusters <names>' not specified"],
    [["accept", "--clusters", "A_B"], "is no cluster name"],
    [["rejoin"], "name the hub with --hub-context or --hub-kubeconfig"],
    [["rejoin", "--hub-context", "hub", "--hub-apiserver", "http://hub"], "It must be a URL like https://host:6443"],
    [["rejoin", "--hub-context", "hub", "--wait=perhaps"], "It must be true or false"],
    [["unjoin"], "required option '--cluster-name <name>' not specified"],
    [["create", "clusterset"], "missing required argument 'name'"],
    [["create", "clusterset", "A B"], "It is no name of a set"],
    [["clusterset", "set", "blue"], "say what to put into the set"],
    [["clusterset", "bind", "blue", "-n", "A"], "It is no namespace"],
    [["completion", "csh"], "Allowed choices are bash, zsh, fish"],
    [["doctor", "-o", "xml"], "Allowed choices are text, json"],
  ])("%j ends with 2", async (words, problem) => {
    await expectFailure(words, 2, problem);
  });
});

/** One of each way in which commands go to a cluster. */
const COMMANDS: readonly string[][] = [
  ["init"],
  ["get", "hub-info"],
  ["accept", "--clusters", "c1"],
  ["unjoin", "--cluster-name", "c1"],
  ["clusterset", "bind", "blue"],
];

const CHANGING: readonly string[][] = [
  ...COMMANDS,
  ["get", "token"],
  ["delete", "token"],
  ["clean"],
  ["create", "clusterset", "blue"],
];

describe("a cluster that does not answer", () => {
  it.each(COMMANDS)("is named by %s %s", async (...words) => {
    const given = words.filter((word) => word !== undefined);
    await expectFailure([...given, "--kubeconfig", files.dead], 1, "cannot reach https://127.0.0.1:");
  });

  it("is broken for the doctor, who says so as data", async () => {
    const { code, stdout, stderr } = await run("doctor", "--kubeconfig", files.dead, "-o", "json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout).findings).toMatchObject([
      { level: "broken", message: expect.stringContaining("ECONNREFUSED") },
    ]);
    expect(stderr).toContain("1 broken");
  });

  it("as a hub is named by join", async () => {
    const words = [...JOIN, "--kubeconfig", files.plain];
    await expectFailure(words, 1, "the hub https://127.0.0.1:1 cannot be reached: connect ECONNREFUSED");
  });
});

describe("a hub for rejoin", () => {
  const rejoin = (hub: string) => ["rejoin", "--kubeconfig", files.plain, "--hub-kubeconfig", hub];

  it("that does not answer is named, with the flags that mean the hub", async () => {
    const next = "choose another cluster with --hub-context or --hub-kubeconfig";
    await expectFailure(rejoin(files.dead), 1, next);
  });

  it("is not asked for anything where nothing has joined", async () => {
    await expectFailure(
      rejoin(files.hub),
      1,
      "has neither a Klusterlet nor the identity of an agent: nothing has joined from there",
    );
  });
});

describe("somebody whom the server does not know", () => {
  it.each(COMMANDS.slice(0, 2))("is told by %s %s", async (...words) => {
    const given = words.filter((word) => word !== undefined);
    await expectFailure([...given, "--kubeconfig", files.stranger], 1, "does not know who you are (401)");
  });
});

describe("somebody with too few rights", () => {
  it.each(CHANGING)("is told by %s %s", async (...words) => {
    const given = words.filter((word) => word !== undefined);
    await expectFailure([...given, "--kubeconfig", files.poor], 1, "choose another user with --context");
  });

  it("has changed nothing", async () => {
    const { items } = await server.client.list(Namespace);
    expect(items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith("open-"))).toEqual([]);
  });
});

describe("a cluster that is not what was meant", () => {
  it.each<[words: string[], problem: string]>([
    [["get", "token"], "is no hub"],
    [["get", "hub-info"], "is no hub: it has no ClusterManager"],
    [["get", "clustersets"], "is no hub"],
    [["accept", "--clusters", "c1"], "is no hub: it does not know ManagedClusters"],
    [["clean"], "is no hub: it has no ClusterManager"],
    [["create", "clusterset", "blue"], "is no hub"],
    [["clusterset", "set", "blue", "--clusters", "c1"], "is no hub"],
    [["get", "klusterlet-info"], "has no Klusterlet: it has not joined a hub"],
    [["unjoin", "--cluster-name", "c1"], "has no Klusterlet: it has not joined as c1"],
  ])("is told by %j", async (words, problem) => {
    await expectFailure([...words, "--kubeconfig", files.plain], 1, problem);
  });

  it("is broken for the doctor", async () => {
    const { code, stdout } = await run("doctor", "--kubeconfig", files.plain);
    expect(code).toBe(1);
    expect(stdout).toContain("it is neither a hub nor a spoke\n    → capstan init, or capstan join");
  });

  it("as a hub is told by join, and nothing is put on the spoke", async () => {
    const token = await accountToken(server, "default/poor");
    const words = ["join", "--hub-token", token, "--hub-apiserver", server.url, "--cluster-name", "c1"];
    await expectFailure([...words, "--kubeconfig", files.hub], 1, "may not ask the hub");
    await expectFailure(
      [...JOIN, "--hub-apiserver", server.url, "--kubeconfig", files.hub],
      1,
      "does not know the token",
    );
    const { items } = await hub.client.list(Namespace);
    expect(items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith("open-"))).toEqual([]);
  });
});

describe("what is not there", () => {
  it.each<[words: string[], problem: string]>([
    [["accept", "--clusters", "c1"], "there is no ManagedCluster c1 on"],
    [["init", "--image-pull-credential-file", "/nonexistent"], "cannot read /nonexistent: no such file"],
    [[...JOIN, "--ca-file", "/nonexistent"], "cannot read /nonexistent: no such file or directory; correct --ca-file"],
    [
      [...JOIN, "--mode", "hosted", "--managed-cluster-kubeconfig", "/nonexistent"],
      "kubeconfig /nonexistent does not exist",
    ],
  ])("%j ends with 1", async (words, problem) => {
    await expectFailure([...words, "--kubeconfig", files.hub], 1, problem);
  });

  it("a hub's authority that is none is refused before anything is asked", async () => {
    const file = join(folder, "no.pem");
    await writeFile(file, "nothing");
    const words = [...JOIN, "--hub-apiserver", server.url, "--ca-file", file, "--kubeconfig", files.hub];
    await expectFailure(words, 1, "is no certificate; name the right one with --ca-file");
  });
});

it("gives up when the time is over, with 3, and says what it waited for", async () => {
  const ended = await run("accept", "--clusters", "late", "--wait", "--timeout", "1", "--kubeconfig", files.hub);
  expect(ended.code).toBe(3);
  expect(ended.stderr).toMatch(
    /… waiting for cluster late to ask the hub .*\ncapstan: gave up after 1s of waiting for /,
  );
  expect(ended.stderr).toContain("capstan doctor --kubeconfig");
});

it("warns of a hub that means this machine, to a cluster that is on another", async () => {
  const config = kubeconfigFor({ name: "far", server: "https://far.invalid:6443", token: "t" });
  const path = join(folder, "far");
  await writeKubeconfig(path, config);
  const { stderr } = await run(...JOIN, "--kubeconfig", path);
  expect(stderr).toContain(
    "Warning: https://127.0.0.1:1 means this machine, and https://far.invalid:6443 is another one",
  );
});
