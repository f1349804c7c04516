/** What `npm run bench:knative` measures on: a hub with an inventory, spokes with nodes, and operators in processes of their own. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CustomResourceDefinition } from "#api/apiextensions";
import { TokenRequest } from "#api/authentication";
import { Namespace, Secret, ServiceAccount } from "#api/core";
import { ClusterProfile, clusterProfileCrd } from "#api/inventory";
import { knativeEventingCrd, knativeServingCrd } from "#api/knative";
import { apiVersionOf } from "#api/meta";
import { ClusterRoleBinding, RBAC_GROUP } from "#api/rbac";
import {
  type Client,
  connectionOf,
  createClient,
  EXEC_EXTENSION,
  EXEC_V1,
  isAlreadyExists,
  kubeconfigFor,
  kubeconfigText,
  loadKubeconfig,
} from "#kube";
import { timestamp } from "#lib/clock";
import { forEach } from "#runtime";
import { prepareForStock, startStock } from "../test/interop/stock-knative-operator.ts";
import { stranger } from "../test/interop/strangers.ts";
import { RELEASES } from "../test/suites/knative/stage.ts";
import { auditedBy } from "../test/support/audit.ts";
import { eventually } from "../test/support/eventually.ts";
import { cpuSeconds, ended, firstLine, PROFILED, rssMb } from "./processes.ts";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

export const NAMESPACE = "knative-serving";
const FLEET = "fleet";
/** Where operators look for the Secrets of spokes. */
const OPERATOR = "knative-operator";
const ACCOUNT = "bench-operator";
const HANGING = "hanging";
const FIRST_PORT = 28_000;

/** A server that an operator works on, and what it heard. */
export interface Server {
  readonly name: string;
  readonly url: string;
  readonly authority: string;
  readonly client: Client;
  readonly auditLog: string;
}

export interface Servers {
  readonly servers: readonly Server[];
  /** What all of them have used together. */
  cpuMs(): number;
  close(): Promise<void>;
}

/** Embedded clusters in one process, each with a node. */
export async function embedded(names: readonly string[]): Promise<Servers> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-bench-knative-"));
  const flags = ["--data-dir", dir, "--durability", "os", "--port", String(FIRST_PORT)];
  const args = [path("../dist/cli/main.js"), "apiserver", "--clusters", names.join(","), ...flags];
  const child = spawn(process.execPath, [...PROFILED, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  await firstLine(child);
  const servers = await Promise.all(
    names.map(async (name) => {
      const {
        server,
        ca = "",
        ...rest
      } = await connectionOf(await loadKubeconfig({ path: join(dir, `${name}.kubeconfig`) }));
      const client = createClient({ connection: { server, ca, ...rest } });
      return { name, url: server, authority: ca, client, auditLog: join(dir, "data", name, "audit.log") };
    }),
  );
  return {
    servers,
    cpuMs: () => cpuSeconds([child.pid ?? 0]) * 1000,
    async close() {
      for (const { client } of servers) client.close();
      await ended(child);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** How a profile leads to its cluster, or fails to. */
export type Way = { readonly server: Server } | { readonly dead: string } | { readonly hangs: true };

/** Everything that is there before an operator starts. */
export class Stage {
  readonly hub: Server;
  readonly dir: string;
  readonly kubeconfig: string;
  readonly providers: string;

  private constructor(hub: Server, dir: string) {
    this.hub = hub;
    this.dir = dir;
    this.kubeconfig = join(dir, "hub.kubeconfig");
    this.providers = join(dir, "providers.json");
  }

  static async open(hub: Server, ways: readonly Way[]): Promise<Stage> {
    const stage = new Stage(hub, await mkdtemp(join(tmpdir(), "capstan-bench-stage-")));
    const { client } = hub;
    for (const crd of [clusterProfileCrd, knativeServingCrd, knativeEventingCrd]) {
      await client.create(CustomResourceDefinition, crd).catch(unlessThere);
    }
    for (const name of [FLEET, NAMESPACE]) await client.create(Namespace, { metadata: { name } }).catch(unlessThere);
    await prepareForStock(client);
    const token = await tokenOn(client);
    const config = kubeconfigFor({ name: "hub", server: hub.url, ca: hub.authority, token });
    const contexts = config.contexts.map((context) => ({ ...context, namespace: OPERATOR }));
    await writeFile(stage.kubeconfig, kubeconfigText({ ...config, contexts }), { mode: 0o600 });
    await writeFile(stage.providers, JSON.stringify(stage.#providerFile()));
    await forEach(
      ways.map((way, index): [Way, number] => [way, index]),
      ([way, index]) => stage.#offer(way, nameOf(index)),
    );
    return stage;
  }

  /** The same programs for both operators. */
  #providerFile(): object {
    const env = [{ name: "KUBECONFIG", value: this.kubeconfig }];
    const exec = { apiVersion: EXEC_V1, provideClusterInfo: true, env };
    return {
      providers: [
        { name: "secretreader", execConfig: { ...exec, command: stranger("secretreader") } },
        { name: HANGING, execConfig: { ...exec, command: "/bin/sleep", args: ["3600"] } },
      ],
    };
  }

  async #offer(way: Way, name: string): Promise<void> {
    const { client } = this.hub;
    const server = "server" in way ? way.server : undefined;
    const token = server ? await tokenOn(server.client) : "none";
    await client.create(Secret, { metadata: { name, namespace: OPERATOR }, stringData: { token } });
    const spec = { clusterManager: { name: "bench" } };
    await eventually(() => client.create(ClusterProfile, { metadata: { name, namespace: FLEET }, spec }));
    const now = timestamp(new Date());
    const healthy = {
      type: "ControlPlaneHealthy",
      status: "True",
      reason: "Bench",
      message: "",
      lastTransitionTime: now,
    };
    const cluster = {
      server: server?.url ?? ("dead" in way ? way.dead : this.hub.url),
      "certificate-authority-data": Buffer.from(server?.authority ?? this.hub.authority).toString("base64"),
      extensions: [{ name: EXEC_EXTENSION, extension: { clusterName: name } }],
    };
    const status = {
      conditions: [healthy],
      accessProviders: [{ name: "hangs" in way ? HANGING : "secretreader", cluster }],
    };
    await client.patch(ClusterProfile, `${FLEET}/${name}`, { status }, { subresource: "status" });
  }

  /** A change of a profile that says nothing about the way to its cluster. */
  async beat(index: number, value: string): Promise<void> {
    const status = { properties: [{ name: "beat", value }] };
    await this.hub.client.patch(ClusterProfile, `${FLEET}/${nameOf(index)}`, { status }, { subresource: "status" });
  }

  async start(who: Who): Promise<Operator> {
    const { kubeconfig, providers, dir } = this;
    if (who === "stock")
      return running(await startStock({ kubeconfig, providerFile: providers, releases: RELEASES, dir }));
    const args = ["--kubeconfig", kubeconfig, "--providers", providers, "--releases", RELEASES];
    const child = spawn(process.execPath, [...PROFILED, path("./knative-subject.mjs"), ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await firstLine(child);
    return running({ pid: child.pid ?? 0, stop: () => ended(child) });
  }

  close(): Promise<void> {
    return rm(this.dir, { recursive: true, force: true });
  }
}

export type Who = "ours" | "stock";

export interface Operator {
  rssMb(): number;
  cpuMs(): number;
  stop(): Promise<void>;
}

function running({ pid, stop }: { pid: number; stop(): Promise<void> }): Operator {
  return {
    stop,
    rssMb: () => rssMb([pid]),
    cpuMs: () => cpuSeconds([pid]) * 1000,
  };
}

/** How many requests operators have made, watches too; each counts once. */
export function heard(servers: readonly Server[]): number {
  const name = `system:serviceaccount:default:${ACCOUNT}`;
  const ids = servers.flatMap((server) =>
    auditedBy(server).flatMap((event) =>
      event.user?.username === name ? [(event as { auditID?: string }).auditID ?? ""] : [],
    ),
  );
  return new Set(ids).size;
}

/** What is heard once nobody has said anything for so long. */
export async function quiet(servers: readonly Server[], silenceMs = 4_000, patienceMs = 60_000): Promise<number> {
  const deadline = performance.now() + patienceMs;
  let [count, since] = [heard(servers), performance.now()];
  while (performance.now() - since < silenceMs && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    const now = heard(servers);
    if (now !== count) [count, since] = [now, performance.now()];
  }
  return count;
}

export function nameOf(index: number): string {
  return `s${String(index).padStart(2, "0")}`;
}

export function refTo(index: number): { name: string; namespace: string } {
  return { name: nameOf(index), namespace: FLEET };
}

/** Of an account that may do everything, and that nobody else is. */
async function tokenOn(client: Client): Promise<string> {
  const metadata = { name: ACCOUNT, namespace: "default" };
  await client.create(ServiceAccount, { metadata }).catch(unlessThere);
  await client
    .create(ClusterRoleBinding, {
      metadata: { name: ACCOUNT },
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", ...metadata }],
    })
    .catch(unlessThere);
  const { status } = await client.createSub<TokenRequest, ServiceAccount>(
    ServiceAccount,
    `default/${ACCOUNT}`,
    "token",
    {
      apiVersion: apiVersionOf(TokenRequest),
      kind: TokenRequest.kind,
      metadata: {},
      spec: { expirationSeconds: 3600 },
    },
  );
  return status?.token ?? "";
}

function unlessThere(error: unknown): undefined {
  if (!isAlreadyExists(error)) throw error;
  return undefined;
}
