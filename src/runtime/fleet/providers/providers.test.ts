import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { Secret } from "#api/core";
import { kubeconfigFor, kubeconfigText } from "#kube";
import { ManualClock, systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { eventually } from "../../../../test/support/eventually.ts";
import { fakeCluster } from "../../../../test/support/index.ts";
import {
  compositeProvider,
  type FleetProvider,
  isUnreachable,
  kubeconfigFilesProvider,
  kubeconfigSecretsProvider,
  type Offer,
  staticProvider,
} from "../index.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** What a provider has offered by now. */
function offersOf(provider: FleetProvider): { offers: Map<string, Offer>; isListed: () => boolean } {
  const stop = new AbortController();
  const offers = new Map<string, Offer>();
  let isListed = false;
  const follow = async () => {
    for await (const change of provider.follow(stop.signal)) {
      if (change.type === "offered") offers.set(change.offer.name, change.offer);
      else if (change.type === "removed") offers.delete(change.name);
      else isListed = true;
    }
  };
  const ended = follow();
  ends.push(() => {
    stop.abort();
    return ended;
  });
  return { offers, isListed: () => isListed };
}

const { signal } = new AbortController();

function kubeconfig(server: string, token = "secret-token"): string {
  return kubeconfigText(kubeconfigFor({ name: "east", server, token }));
}

function secret(name: string, label: string, text: string) {
  const labels = { [label]: "true" };
  const data = { kubeconfig: Buffer.from(text, "utf8").toString("base64") };
  return { metadata: { name, namespace: "fleet", labels }, data };
}

const MCR = "sigs.k8s.io/multicluster-runtime-kubeconfig";

describe("kubeconfig Secrets", () => {
  it("are clusters by any of the labels, called as the Secret, until they lose it", async () => {
    const text = kubeconfig("https://east:6443");
    const hub = fakeCluster([
      Secret,
      secret("a", MCR, text),
      secret("b", "kro.run/cluster", text),
      secret("c", "multicluster.runtime/cluster", text),
      secret("d", "another", text),
    ]);
    const { offers, isListed } = offersOf(kubeconfigSecretsProvider({ hub, namespace: "fleet", clock: systemClock }));
    await eventually(() => expect(isListed()).toBe(true));
    expect([...offers.keys()].sort()).toEqual(["a", "b", "c"]);
    expect(await offers.get("a")?.connect(signal)).toMatchObject({
      server: "https://east:6443",
      token: "secret-token",
    });

    const { labels: _, ...metadata } = secret("a", MCR, text).metadata;
    hub.put(Secret, { ...secret("a", MCR, text), metadata });
    hub.drop(Secret, "fleet/b");
    await eventually(() => expect([...offers.keys()]).toEqual(["c"]));
  });

  it("stay while one of several labels stays", async () => {
    const both = secret("a", MCR, kubeconfig("https://east:6443"));
    const labels = { ...both.metadata.labels, "kro.run/cluster": "true" };
    const hub = fakeCluster([Secret, { ...both, metadata: { ...both.metadata, labels } }]);
    const { offers } = offersOf(kubeconfigSecretsProvider({ hub, clock: systemClock }));
    await eventually(() => expect([...offers.keys()]).toEqual(["fleet/a"]));
    const before = offers.get("fleet/a")?.fingerprint;
    hub.put(Secret, secret("a", MCR, kubeconfig("https://west:6443")));
    await eventually(() => expect(offers.get("fleet/a")?.fingerprint).not.toBe(before));
    expect([...offers.keys()]).toEqual(["fleet/a"]);
  });

  const withUser = (user: string, cluster = "server: https://east:6443") => `
current-context: c
contexts: [{ name: c, context: { cluster: c, user: u } }]
clusters: [{ name: c, cluster: { ${cluster} } }]
users: [{ name: u, user: { ${user} } }]
`;

  it.each([
    [
      "a program",
      withUser("exec: { apiVersion: client.authentication.k8s.io/v1, command: /bin/sh }"),
      "names a program",
    ],
    ["a token file", withUser("tokenFile: /etc/passwd"), "names files"],
    ["a key file", withUser("client-certificate: /a, client-key: /b"), "names files"],
    ["an authority file", withUser("token: t", "server: 'https://e', certificate-authority: /a"), "names files"],
    ["an unchecked server", withUser("token: t", "server: 'https://e', insecure-skip-tls-verify: true"), "not checked"],
    ["a plain connection", withUser("token: t", "server: 'http://e'"), "not checked"],
  ])("may not ask for %s, because whoever writes them is not us", async (_, text, said) => {
    const hub = fakeCluster([Secret, secret("a", MCR, text)]);
    const { offers } = offersOf(kubeconfigSecretsProvider({ hub, clock: systemClock }));
    await eventually(() => expect(offers.size).toBe(1));
    const way = await offers.get("fleet/a")?.connect(signal);
    expect(way).toMatchObject({ reason: "KubeconfigRefused", message: expect.stringContaining(said) });
  });

  it.each([
    ["no kubeconfig", "", "Secret fleet/a has no key kubeconfig with a kubeconfig"],
    ["no YAML", "token: [secret-token", "kubeconfig Secret fleet/a is not valid YAML"],
    ["no context", "users: []", "Secret fleet/a has no current context"],
  ])("with %s say what is wrong, and nothing of what they hold", async (_, text, said) => {
    const hub = fakeCluster([Secret, secret("a", MCR, text)]);
    const { offers } = offersOf(kubeconfigSecretsProvider({ hub, clock: systemClock }));
    await eventually(() => expect(offers.size).toBe(1));
    const way = await offers.get("fleet/a")?.connect(signal);
    if (!way || !isUnreachable(way)) throw new Error("it has a way in");
    expect(way.reason).toBe("KubeconfigInvalid");
    expect(way.message).toContain(said);
    expect(way.message).not.toContain("secret-token");
  });
});

describe("kubeconfig files", () => {
  async function folder(): Promise<string> {
    const dir = await mkdtemp(join(tmpdir(), "capstan-fleet-"));
    ends.push(() => rm(dir, { recursive: true, force: true }));
    return dir;
  }

  it("are clusters by context, and are read again when they change", async () => {
    const dir = await folder();
    const file = join(dir, "east.kubeconfig");
    await writeFile(file, kubeconfig("https://east:6443", "one"));
    await writeFile(join(dir, "notes.txt"), "no kubeconfig");
    const { offers, isListed } = offersOf(
      kubeconfigFilesProvider({ paths: [dir], clock: systemClock, log: silentLog }),
    );
    await eventually(() => expect(isListed()).toBe(true));
    const name = `${file}+east`;
    expect([...offers.keys()]).toEqual([name]);
    expect(await offers.get(name)?.connect(signal)).toMatchObject({ token: "one" });

    await writeFile(file, kubeconfig("https://east:6443", "two"));
    await eventually(async () => expect(await offers.get(name)?.connect(signal)).toMatchObject({ token: "two" }));
    await rm(file);
    await eventually(() => expect(offers.size).toBe(0));
  });

  it("stay as they were while they make no sense", async () => {
    const dir = await folder();
    const file = join(dir, "kubeconfig.yaml");
    await writeFile(file, kubeconfig("https://east:6443"));
    const complaints: string[] = [];
    const log = { ...silentLog, warn: (message: string) => complaints.push(message) };
    const nameOf = (_: string, context: string) => context;
    const { offers } = offersOf(kubeconfigFilesProvider({ paths: [file], nameOf, clock: systemClock, log }));
    await eventually(() => expect(offers.size).toBe(1));
    await writeFile(file, "clusters: [");
    await eventually(() => expect(complaints).not.toEqual([]));
    expect([...offers.keys()]).toEqual(["east"]);
  });
});

describe("several providers as one", () => {
  it("put their names in front of their clusters", async () => {
    const [one, two] = [staticProvider({ a: { server: "https://one" } }), staticProvider()];
    const provider = compositeProvider({ one, two }, { clock: new ManualClock(), log: silentLog });
    const { offers, isListed } = offersOf(provider);
    await eventually(() => expect(isListed()).toBe(true));
    expect([...offers.keys()]).toEqual(["one#a"]);
    two.set("a", { server: "https://two" });
    await eventually(() => expect([...offers.keys()]).toEqual(["one#a", "two#a"]));
    expect(await offers.get("two#a")?.connect(signal)).toEqual({ server: "https://two" });
    one.remove("a");
    await eventually(() => expect([...offers.keys()]).toEqual(["two#a"]));
  });

  it("do not suffer from one that fails", async () => {
    const broken: FleetProvider = {
      name: "broken",
      // biome-ignore lint/correctness/useYield: it fails before it has anything to tell
      async *follow() {
        throw new Error("no");
      },
    };
    const good = staticProvider({ a: { server: "https://one" } });
    const { offers } = offersOf(compositeProvider({ broken, good }, { clock: new ManualClock(), log: silentLog }));
    await eventually(() => expect([...offers.keys()]).toEqual(["good#a"]));
  });

  it("must have names that can be told apart", () => {
    const make = () => compositeProvider({ "a#b": staticProvider() }, { clock: systemClock, log: silentLog });
    expect(make).toThrow("cannot be the name of a provider");
  });
});
