/** The many ways to join, by what they put on a cluster. Nothing runs there, so that the objects can be looked at in peace. */
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { managedClusterCrd } from "#api/cluster";
import { ConfigMap, Namespace, Secret, ServiceAccount } from "#api/core";
import { ClusterManager, clusterManagerCrd, Klusterlet } from "#api/operator";
import { type Kubeconfig, parseKubeconfig, writeKubeconfig, yamlText } from "#kube";
import { build, type Ended, run } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";

let folder: string;
let hub: TestServer;
let spoke: TestServer;
let managed: TestServer;
let token: string;

beforeAll(async () => {
  build();
  folder = await mkdtemp(join(tmpdir(), "capstan-administration-join-"));
  [hub, spoke, managed] = (await Promise.all(["hub", "spoke", "managed"].map((name) => startEmbedded(name)))) as [
    TestServer,
    TestServer,
    TestServer,
  ];
  for (const server of [hub, spoke, managed]) await writeKubeconfig(fileOf(server), server.kubeconfig);
  await hub.client.create(CustomResourceDefinition, managedClusterCrd);
  const { stdout } = await ended(run("get", "token", "-o", "json", "--kubeconfig", fileOf(hub)));
  token = JSON.parse(stdout)["hub-token"];
}, 120_000);

afterAll(async () => {
  await Promise.all([hub, spoke, managed].map((server) => server?.close()));
  await rm(folder, { recursive: true, force: true });
});

const fileOf = ({ name }: TestServer): string => join(folder, `${name}.kubeconfig`);

async function ended(command: Promise<Ended>): Promise<Ended> {
  const end = await command;
  expect(end.code, end.stderr).toBe(0);
  return end;
}

function joined(...flags: string[]): Promise<Ended> {
  const words = ["join", "--hub-token", token, "--hub-apiserver", hub.url, "--cluster-name", "c1"];
  return ended(run(...words, "--kubeconfig", fileOf(spoke), ...flags));
}

async function secretConfig(key: string): Promise<Kubeconfig> {
  const { data } = await spoke.client.get(Secret, key);
  return parseKubeconfig(Buffer.from(data?.kubeconfig ?? "", "base64").toString("utf8"), key);
}

const BOOTSTRAP = "open-cluster-management-agent/bootstrap-hub-kubeconfig";

describe("join", { timeout: 120_000 }, () => {
  it("takes the hub's authority from kube-root-ca.crt where there is no cluster-info", async () => {
    await eventually(() => hub.client.get(ConfigMap, "kube-public/kube-root-ca.crt"));
    const { stderr } = await joined("--resource-qos-class", "BestEffort", "--image", "mine:1");
    expect(stderr).toContain("trusted by the authority in its kube-root-ca.crt, SHA-256 ");
    const [cluster] = (await secretConfig(BOOTSTRAP)).clusters;
    expect(cluster).toMatchObject({ name: "hub", server: hub.url, ca: { pem: hub.authority } });
    const { spec } = await spoke.client.get(Klusterlet, "klusterlet");
    expect(spec).toMatchObject({ deployOption: { mode: "Default" }, resourceRequirement: { type: "BestEffort" } });
    const operator = await spoke.client.get(Deployment, "open-cluster-management/klusterlet");
    expect(operator.spec.template.spec.containers[0]?.image).toBe("mine:1");
  });

  it("changes what is said otherwise the next time, and leaves the rest", async () => {
    const { stderr } = await joined("--singleton", "--image", "mine:1", "--feature-gates", "ClusterProperty=false");
    expect(stderr).toMatch(/has what makes it c1 \(1 changed, \d+ unchanged\)/);
    const { spec } = await spoke.client.get(Klusterlet, "klusterlet");
    expect(spec).toMatchObject({
      deployOption: { mode: "Singleton" },
      resourceRequirement: { type: "BestEffort" },
      registrationConfiguration: { featureGates: [{ feature: "ClusterProperty", mode: "Disable" }] },
    });
    expect((await joined("--singleton", "--image", "mine:1")).stderr).toMatch(/has what makes it c1 \(\d+ unchanged\)/);
  });

  it("trusts an authority that a person names, and no other", async () => {
    const right = join(folder, "hub.pem");
    await writeFile(right, hub.authority);
    expect((await joined("--ca-file", right)).stderr).toContain("the authority in --ca-file, SHA-256 ");
    const wrong = join(folder, "wrong.pem");
    await writeFile(wrong, managed.authority);
    const words = ["join", "--hub-token", token, "--hub-apiserver", hub.url, "--cluster-name", "c1"];
    const end = await run(...words, "--kubeconfig", fileOf(spoke), "--ca-file", wrong);
    expect(end.code).toBe(1);
    expect(end.stderr).toMatch(/capstan: the hub .* cannot be reached: .*certificate/);
  });

  it("goes through a proxy, and tells the agents of it", async () => {
    const proxy = await startProxy();
    await joined("--proxy-url", proxy.url);
    expect(proxy.asked).toContain(new URL(hub.url).host);
    expect((await secretConfig(BOOTSTRAP)).clusters[0]).toMatchObject({ server: hub.url, proxyUrl: proxy.url });
    await proxy.stop();
  });

  it("reaches the hub as it calls itself, when told", async () => {
    const internal = { clusters: [{ name: "", cluster: { server: "https://hub-control-plane:6443" } }] };
    const info = { name: "cluster-info", namespace: "kube-public" };
    await hub.client.create(ConfigMap, { metadata: info, data: { kubeconfig: yamlText(internal) } });
    await joined("--force-internal-endpoint-lookup");
    expect((await secretConfig(BOOTSTRAP)).clusters[0]?.server).toBe("https://hub-control-plane:6443");
    await hub.client.delete(ConfigMap, "kube-public/cluster-info");
  });

  it("puts the agents of another cluster here, each time under the same name", async () => {
    const words = ["join", "--hub-token", token, "--hub-apiserver", hub.url, "--cluster-name", "far"];
    const hosted = ["--mode", "hosted", "--managed-cluster-kubeconfig", fileOf(managed)];
    await ended(run(...words, ...hosted, "--kubeconfig", fileOf(spoke)));
    const { stderr } = await ended(run(...words, ...hosted, "--kubeconfig", fileOf(spoke)));
    expect(stderr).toMatch(/has what makes it far \(\d+ unchanged\)/);
    const { items } = await spoke.client.list(Klusterlet);
    const klusterlet = items.find(({ spec }) => spec?.clusterName === "far");
    const { name } = klusterlet?.metadata ?? { name: "" };
    expect(klusterlet?.spec).toMatchObject({
      deployOption: { mode: "Hosted" },
      namespace: `open-cluster-management-${name}`,
      externalServerURLs: [{ url: managed.url }],
    });
    const config = await secretConfig(`${name}/external-managed-kubeconfig`);
    expect(config.clusters[0]).toMatchObject({ server: managed.url, ca: { pem: managed.authority } });
    expect(config.users[0]?.cert).toEqual({ pem: expect.stringContaining("BEGIN CERTIFICATE") });
    expect((await managed.client.list(Namespace)).items.map(({ metadata }) => metadata.name)).not.toContain(
      "open-cluster-management",
    );
  });

  it("brings a credential for the registry, and writes what it applied to a file", async () => {
    const credential = join(folder, "docker.json");
    await writeFile(credential, '{"auths":{}}');
    const file = join(folder, "applied.yaml");
    await joined("--image-pull-credential-file", credential, "--output-file", file, "--image", "mine:1");
    const name = "open-cluster-management-image-pull-credentials";
    expect((await spoke.client.get(Secret, `open-cluster-management/${name}`)).type).toBe(
      "kubernetes.io/dockerconfigjson",
    );
    const account = await spoke.client.get(ServiceAccount, "open-cluster-management/klusterlet");
    expect(account.imagePullSecrets).toEqual([{ name }]);
    expect(await readFile(file, "utf8")).toMatch(/kind: CustomResourceDefinition[\s\S]*kind: Klusterlet/);
  });
});

describe("init", { timeout: 120_000 }, () => {
  it("gives out a bootstrap token that stays the same", async () => {
    const words = ["--use-bootstrap-token", "--kubeconfig", fileOf(managed), "-o", "json"];
    const first = JSON.parse((await ended(run("init", ...words))).stdout)["hub-token"];
    expect(first).toMatch(/^ocmhub\.[a-z0-9]{16}$/);
    expect(JSON.parse((await ended(run("init", ...words))).stdout)["hub-token"]).toBe(first);
    expect(JSON.parse((await ended(run("get", "token", ...words))).stdout)["hub-token"]).toBe(first);
    const { spec } = await managed.client.get(ClusterManager, "cluster-manager");
    expect(spec?.registrationConfiguration?.autoApproveUsers).toEqual(["system:bootstrap:ocmhub"]);
    await ended(run("delete", "token", "--kubeconfig", fileOf(managed)));
    const gone = await managed.client.get(Secret, "kube-system/bootstrap-token-ocmhub").catch(() => undefined);
    expect(gone).toBeUndefined();
    expect(JSON.parse((await ended(run("get", "token", ...words))).stdout)["hub-token"]).not.toBe(first);
  });

  it("asks for what the flags say", async () => {
    const flags = [
      ["--feature-gates", "ManagedClusterAutoApproval=true"],
      ["--auto-approved-csr-identities", "bob,eve"],
      ["--resource-qos-class", "ResourceRequirement", "--resource-limits", "cpu=1000m,memory=1Gi"],
      ["--resource-requests", "cpu=500m,memory=512Mi"],
      ["--controllers", "*,-knative-eventing", "--knative-manifests", "releases"],
      ["--enable-sync-labels"],
    ].flat();
    await ended(run("init", ...flags, "--kubeconfig", fileOf(managed)));
    const { metadata, spec } = await managed.client.get(ClusterManager, "cluster-manager");
    expect(spec?.registrationConfiguration?.featureGates).toContainEqual({
      feature: "ManagedClusterAutoApproval",
      mode: "Enable",
    });
    expect(spec?.registrationConfiguration?.registrationDrivers).toEqual([
      { authType: "csr", csr: { autoApprovedIdentities: ["bob", "eve"] } },
    ]);
    expect(spec?.resourceRequirement).toEqual({
      type: "ResourceRequirement",
      resourceRequirements: {
        limits: { cpu: "1000m", memory: "1Gi" },
        requests: { cpu: "500m", memory: "512Mi" },
      },
    });
    expect(JSON.parse(metadata.annotations?.["operator.capstan.dev/hub-arguments"] ?? "")).toEqual([
      "--controllers=*,-knative-eventing",
      `--knative-manifests=${join(process.cwd(), "releases")}`,
    ]);
    const operator = await managed.client.get(Deployment, "open-cluster-management/cluster-manager");
    expect(operator.spec.template.spec.containers[0]?.args).toContain("--enable-sync-labels");
  });

  it("does not put its operator in the place of upstream's unless told", async () => {
    const key = "open-cluster-management/cluster-manager";
    const containers = [{ name: "registration-operator", image: "quay.io/open-cluster-management/x:v1" }];
    await managed.client.patch(Deployment, key, { spec: { template: { spec: { containers } } } });
    const end = await run("init", "--kubeconfig", fileOf(managed));
    expect(end).toMatchObject({ code: 1, stdout: "" });
    expect(end.stderr).toContain("the operator of Open Cluster Management; --force puts Capstan's in its place");
    await ended(run("init", "--force", "--kubeconfig", fileOf(managed)));
    const { spec } = await managed.client.get(Deployment, key);
    expect(spec.template.spec.containers[0]?.image).toMatch(/^capstan:/);
  });

  it("has its kind removed by clean, though its operator never ran", async () => {
    await ended(run("clean", "--kubeconfig", fileOf(managed)));
    const names = (await managed.client.list(CustomResourceDefinition)).items.map(({ metadata }) => metadata.name);
    expect(names).not.toContain(clusterManagerCrd.metadata.name);
    const namespaces = (await managed.client.list(Namespace)).items.map(({ metadata }) => metadata.name);
    expect(namespaces).not.toContain("open-cluster-management");
  });
});

interface Proxy {
  readonly url: string;
  /** `host:port` of every connection that was asked for. */
  readonly asked: string[];
  stop(): Promise<void>;
}

async function startProxy(): Promise<Proxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer();
  server.on("connect", (request, near: Socket) => {
    asked.push(request.url ?? "");
    const [host, port] = (request.url ?? "").split(":");
    const far = connect(Number(port), host, () => {
      near.write("HTTP/1.1 200 Connection established\r\n\r\n");
      near.pipe(far).pipe(near);
    });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
