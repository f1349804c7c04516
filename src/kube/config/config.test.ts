import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { heldCredentials } from "../credentials.ts";
import type { ExecEngine } from "../exec/index.ts";
import {
  connectionOf,
  fileToken,
  inClusterConnection,
  KubeconfigError,
  type KubeconfigSource,
  kubeconfigFor,
  kubeconfigText,
  loadKubeconfig,
  mergeKubeconfigs,
  parseKubeconfig,
  writeKubeconfig,
} from "./index.ts";

const PEM = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
const DATA = Buffer.from(PEM).toString("base64");

/** A kubeconfig with one context `c` of cluster `k` and user `u`. */
function text({
  cluster = "server: https://host:6443",
  user = "token: t",
  context = "cluster: k, user: u",
  current = "c",
} = {}) {
  return `
apiVersion: v1
kind: Config
current-context: ${current}
clusters: [{ name: k, cluster: { ${cluster} } }]
users: [{ name: u, user: { ${user} } }]
contexts: [{ name: c, context: { ${context} } }]
`;
}

/** A file system of a test. */
function files(content: Record<string, string>) {
  return async (path: string) => {
    const found = content[path];
    if (found === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: "ENOENT" });
    return found;
  };
}

async function refusal(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    if (error instanceof KubeconfigError) return error.message;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("connectionOf", () => {
  it.each([
    ["a token", text(), { server: "https://host:6443", token: "t" }],
    [
      "inline data",
      text({
        cluster: `server: "https://h", certificate-authority-data: ${DATA}`,
        user: `client-certificate-data: ${DATA}, client-key-data: ${DATA}`,
      }),
      { server: "https://h", ca: PEM, cert: PEM, key: PEM },
    ],
    [
      "files beside the kubeconfig",
      text({
        cluster: `server: "https://h", certificate-authority: pki/ca`,
        user: "client-certificate: /abs/cert, client-key: key",
      }),
      { server: "https://h", ca: "ca-pem", cert: "cert-pem", key: "key-pem" },
    ],
    [
      "inline data and a file: the data counts",
      text({ cluster: `server: "https://h", certificate-authority: nowhere, certificate-authority-data: ${DATA}` }),
      { server: "https://h", ca: PEM, token: "t" },
    ],
    [
      "TLS settings and a namespace",
      text({
        cluster: `server: "https://h", insecure-skip-tls-verify: true, tls-server-name: other`,
        context: "cluster: k, user: u, namespace: n",
      }),
      { server: "https://h", insecure: true, serverName: "other", namespace: "n", token: "t" },
    ],
    [
      "a proxy",
      text({ cluster: `server: "https://h", proxy-url: "http://p:3128"` }),
      { server: "https://h", proxy: "http://p:3128", token: "t" },
    ],
    ["no user: anonymous", text({ context: "cluster: k" }), { server: "https://host:6443" }],
    [
      "a server with a path and a slash at its end",
      text({ cluster: `server: "https://h:1/a/b/"` }),
      { server: "https://h:1/a/b", writtenServer: "https://h:1/a/b/", token: "t" },
    ],
  ])("understands %s", async (_, yaml, expected) => {
    const read = files({ "/k/pki/ca": "ca-pem", "/abs/cert": "cert-pem", "/k/key": "key-pem" });
    expect(await connectionOf(parseKubeconfig(yaml, "/k/config"), undefined, { read })).toEqual(expected);
  });

  it("reads a tokenFile rather than the token, and again when it may have changed", async () => {
    const clock = new ManualClock();
    const content = { "/k/tok": " one\n" };
    const config = parseKubeconfig(text({ user: "tokenFile: tok, token: t" }), "/k/config");
    const { token, credentials } = await connectionOf(config, "c", { read: files(content), clock });
    const changes: (string | undefined)[] = [];
    credentials?.onChange((credential) => changes.push(credential.token));
    expect([token, await credentials?.current()]).toEqual([undefined, { token: "one" }]);
    content["/k/tok"] = "two";
    expect(await credentials?.current()).toEqual({ token: "one" });
    expect(await credentials?.refresh({ token: "one" })).toEqual({ token: "two" });
    content["/k/tok"] = "three";
    clock.advance(60_000);
    expect(await credentials?.current()).toEqual({ token: "three" });
    expect(changes).toEqual(["two", "three"]);
  });

  it("says so when a token file is empty", async () => {
    await expect(fileToken("/t", { read: files({ "/t": "\n" }) }).current()).rejects.toThrow("token file /t is empty");
  });

  it.each([
    ["an unknown context", text(), "x", "no such context x in /k/config; it has: c"],
    [
      "no current context",
      text({ current: "''" }),
      undefined,
      "/k/config has no current context; name one (it has: c)",
    ],
    [
      "a missing cluster",
      text({ context: "cluster: q, user: u" }),
      undefined,
      "context c in /k/config names cluster q, which is not there; it has: k",
    ],
    [
      "a missing user",
      text({ context: "cluster: k, user: q" }),
      undefined,
      "context c in /k/config names user q, which is not there; it has: u",
    ],
    ["no server", text({ cluster: "" }), undefined, "cluster k in /k/config names no server"],
    [
      "a server that is no URL",
      text({ cluster: `server: "host:6443"` }),
      undefined,
      "cluster k in /k/config has server host:6443; it must be a URL such as https://host:6443",
    ],
    [
      "an authority that is to be ignored",
      text({ cluster: `server: "https://h", insecure-skip-tls-verify: true, certificate-authority-data: ${DATA}` }),
      undefined,
      "cluster k in /k/config has a certificate authority and skips verification; remove one of them",
    ],
    [
      "a file that is not there",
      text({ cluster: `server: "https://h", certificate-authority: ca` }),
      undefined,
      "certificate authority of cluster k in /k/config: /k/ca cannot be read: ENOENT: /k/ca",
    ],
    [
      "a certificate without its key",
      text({ user: `client-certificate-data: ${DATA}` }),
      undefined,
      "user u in /k/config has a client certificate but no client key",
    ],
    [
      "a program, when nobody is there to run it",
      text({ user: "exec: { command: aws }" }),
      undefined,
      "user u in /k/config gets its credentials from a program (aws), and programs are not run here: use a client certificate or a token",
    ],
    [
      "impersonation, which must not be passed over",
      text({ user: "token: t, as: root" }),
      undefined,
      "user u in /k/config uses as, not supported: use a client certificate or a token",
    ],
    [
      "a proxy of another kind, without repeating its password",
      text({ cluster: `server: "https://h", proxy-url: "socks5://me:hush@p"` }),
      undefined,
      "cluster k in /k/config has a proxy-url of scheme socks5; it must be a URL such as http://host:3128",
    ],
  ])("refuses %s", async (_, yaml, context, message) => {
    const config = parseKubeconfig(yaml, "/k/config");
    expect(await refusal(() => connectionOf(config, context, { read: files({}) }))).toBe(message);
  });
});

describe("a user who needs a program", () => {
  const exec = "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, provideClusterInfo: true";
  const asked: unknown[] = [];
  const engine: ExecEngine = {
    credentials(config, cluster) {
      asked.push(config, cluster);
      return heldCredentials({ token: "from a program" });
    },
    close() {},
  };
  const connect = (yaml: string) =>
    connectionOf(parseKubeconfig(yaml, "/k/config"), undefined, { read: files({ "/k/ca": PEM }), exec: engine });

  it("gets credentials from it; it is told of the cluster, authorities in files too", async () => {
    const { credentials, ...rest } = await connect(
      text({
        cluster: `server: "https://h", certificate-authority: ca, tls-server-name: n, extensions: [{ name: client.authentication.k8s.io/exec, extension: { clusterName: c1 } }, { name: other, extension: {} }]`,
        user: `exec: { ${exec}, command: bin/plugin }`,
      }),
    );
    expect(await credentials?.current()).toEqual({ token: "from a program" });
    expect(rest).toEqual({ server: "https://h", ca: PEM, serverName: "n" });
    expect(asked.splice(0)).toEqual([
      expect.objectContaining({ command: "/k/bin/plugin" }), // from the folder of the kubeconfig
      {
        server: "https://h",
        "tls-server-name": "n",
        "certificate-authority-data": DATA,
        config: { clusterName: "c1" },
      },
    ]);
  });

  it("has it looked for in PATH when its command is a bare name", async () => {
    await connect(text({ user: `exec: { ${exec}, command: aws }` }));
    expect(asked.splice(0)[0]).toMatchObject({ command: "aws" });
  });

  it.each(["token: t", `client-certificate-data: ${DATA}, client-key-data: ${DATA}`])(
    "does not need it who has %s",
    async (user) => {
      const { credentials } = await connect(text({ user: `${user}, exec: { ${exec}, command: aws }` }));
      expect([credentials, asked]).toEqual([undefined, []]);
    },
  );

  it("is named when the section makes no sense", async () => {
    expect(await refusal(() => connect(text({ user: "exec: { command: aws }" })))).toBe(
      'user u in /k/config: exec plugin: invalid apiVersion ""',
    );
  });

  it("is written back as it was read", () => {
    const config = parseKubeconfig(
      text({
        cluster: `server: "https://h", disable-compression: true, extensions: [{ name: client.authentication.k8s.io/exec, extension: { a: 1 } }]`,
        user: `exec: { ${exec}, command: aws }`,
      }),
      "/k/config",
    );
    expect(parseKubeconfig(kubeconfigText(config), "/k/config")).toEqual(config);
  });
});

describe("parseKubeconfig", () => {
  it.each([
    [
      "broken YAML, without quoting it",
      "users: [{ token: hush",
      /^kubeconfig \/k\/config is not valid YAML: (?!.*hush)/,
    ],
    ["something else", "- 1", /does not hold an object/],
    ["another kind", "kind: Pod", /is of kind Pod, not Config/],
    ["a list that is none", "clusters: {}", /clusters must be a list/],
    ["an entry without a name", "users: [{ user: {} }]", /users\[0\] needs a name/],
    ["a name twice", "users: [{ name: a }, { name: a }]", /has two users called a; remove one/],
    ["a token that is no string", "users: [{ name: a, user: { token: 5 } }]", /token of user a must be a string/],
    [
      "data that is no PEM",
      "users: [{ name: a, user: { client-key-data: aHVzaA== } }]",
      /client-key-data of user a must be PEM/,
    ],
  ])("refuses %s", async (_, yaml, message) => {
    expect(await refusal(() => parseKubeconfig(yaml, "/k/config"))).toMatch(message);
  });

  it("accepts an empty file and lists that are null", () => {
    expect(parseKubeconfig("", "/k/config").contexts).toEqual([]);
    expect(parseKubeconfig("clusters: null", "/k/config").clusters).toEqual([]);
  });
});

describe("loadKubeconfig", () => {
  const content = {
    "/a": text({ current: "''", user: "token: from-a" }),
    "/b": text({ user: "token: from-b" }),
    "/home/me/.kube/config": text({ user: "token: from-home" }),
  };
  it.each<[string, KubeconfigSource, string]>([
    ["the file that is named, and nothing else", { path: "/b", variable: "/a", home: "/home/me" }, "from-b"],
    [
      "the list of KUBECONFIG; the first file with a name counts",
      { variable: "/none::/a:/b", home: "/home/me" },
      "from-a",
    ],
    ["the file in the user's home", { home: "/home/me" }, "from-home"],
    ["relative paths from where the user is", { path: ".kube/config", cwd: "/home/me" }, "from-home"],
  ])("reads %s", async (_, source, token) => {
    const config = await loadKubeconfig({ ...source, read: files(content) });
    expect(config.current).toBe("c");
    expect((await connectionOf(config)).token).toBe(token);
  });

  it.each<[string, KubeconfigSource, string]>([
    ["the named file is missing", { path: "/none" }, "kubeconfig /none does not exist"],
    [
      "no file is there",
      { home: "/nobody" },
      "no kubeconfig: /nobody/.kube/config not found; name one, or set KUBECONFIG",
    ],
    ["there is nowhere to look", {}, "no kubeconfig: name one, or set KUBECONFIG"],
  ])("says so when %s", async (_, source, message) => {
    expect(await refusal(() => loadKubeconfig({ ...source, read: files(content) }))).toBe(message);
  });
});

describe("writing", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const hub = kubeconfigFor({ name: "hub", server: "https://127.0.0.1:1", ca: PEM, cert: PEM, key: PEM });
  const spoke = kubeconfigFor({ name: "yes", server: "https://127.0.0.1:2", token: "0123", namespace: "n" });

  it("gives self-contained text that is always the same", () => {
    expect(kubeconfigText(hub)).toBe(`apiVersion: v1
kind: Config
clusters:
  - name: hub
    cluster:
      certificate-authority-data: ${DATA}
      server: https://127.0.0.1:1
contexts:
  - name: hub
    context:
      cluster: hub
      user: hub
current-context: hub
users:
  - name: hub
    user:
      client-certificate-data: ${DATA}
      client-key-data: ${DATA}
`);
  });

  it("reads back what it wrote, also names that look like something else", async () => {
    const path = join(folder, "config");
    await writeFile(path, "old");
    await writeKubeconfig(path, mergeKubeconfigs([hub, spoke]));
    const config = await loadKubeconfig({ path });
    expect(await connectionOf(config)).toEqual({ server: "https://127.0.0.1:1", ca: PEM, cert: PEM, key: PEM });
    expect(await connectionOf(config, "yes")).toEqual({ server: "https://127.0.0.1:2", token: "0123", namespace: "n" });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(kubeconfigText(config)).toBe(await readFile(path, "utf8"));
  });
});

describe("inClusterConnection", () => {
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
  const folder = "/var/run/secrets/kubernetes.io/serviceaccount";

  it("uses what a Pod is given", async () => {
    const read = files({ [`${folder}/ca.crt`]: PEM, [`${folder}/token`]: "tok\n", [`${folder}/namespace`]: "ns\n" });
    const { credentials, ...rest } = (await inClusterConnection({ env, read })) ?? { credentials: undefined };
    expect(rest).toEqual({ server: "https://[fd00::1]:443", ca: PEM, namespace: "ns" });
    expect(await credentials?.current()).toEqual({ token: "tok" });
  });

  it("is nothing outside of a Pod", async () => {
    expect(await inClusterConnection({ env: {}, read: files({}) })).toBeUndefined();
  });

  it("says what is missing in a Pod without a service account", async () => {
    expect(await refusal(() => inClusterConnection({ env, read: files({}) }))).toContain(
      "does the Pod mount its service account?",
    );
  });
});
