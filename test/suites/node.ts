/** What must hold of nodes on any API server. */
import { readFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Node, Pod, ServiceAccount } from "#api/core";
import { ClusterRole, ClusterRoleBinding } from "#api/rbac";
import { nodeNames, type RunningNodes, type RunProgram, startNodes } from "#app";
import { type Client, connectionOf, createClient, type Kubeconfig, kubeconfigFor, parseYaml } from "#kube";
import { systemClock } from "#lib/clock";
import { isTrue } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { eventually } from "../support/eventually.ts";
import { type Caller, certified, rawClient } from "../support/raw.ts";
import type { StartServer, TestServer } from "../support/servers.ts";

const VERSION = "0.0.0-test";
const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const README = fileURLToPath(new URL("../../src/features/node/README.md", import.meta.url));

/** The roles that the documents say are enough: to simulate, and to run programs too. */
async function documentedRoles(): Promise<ClusterRole[]> {
  const text = await readFile(README, "utf8");
  return [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = ""]) => parseYaml(yaml) as ClusterRole);
}

export function nodeSuite(start: StartServer): void {
  let server: TestServer;
  let client: Client;
  const running = new Set<RunningNodes>();

  beforeAll(async () => {
    server = await start("nodes");
    ({ client } = server);
    await eventually(() => client.get(ServiceAccount, "default/default"));
  }, 120_000);
  afterAll(async () => {
    for (const nodes of running) await nodes.stop();
    await server?.close();
  }, 60_000);

  async function run(
    names: readonly string[],
    { kubeconfig = server.kubeconfig, program }: { kubeconfig?: Kubeconfig; program?: RunProgram } = {},
  ): Promise<RunningNodes> {
    const nodes = startNodes({
      client: createClient({ connection: await connectionOf(kubeconfig) }),
      names,
      version: VERSION,
      ...(program && { own: { run: program } }),
      clock: systemClock,
      log: silentLog,
    });
    running.add(nodes);
    await nodes.registered;
    for (const name of names) {
      await eventually(async () => expect((await client.get(Node, name)).spec?.taints ?? []).toEqual([]));
    }
    return nodes;
  }
  async function stop(nodes: RunningNodes): Promise<void> {
    running.delete(nodes);
    await nodes.stop();
    for (const name of nodes.names) await client.delete(Node, name);
  }
  const makePod = (name: string, image = "nginx:1") =>
    client.create(Pod, { metadata: { name, namespace: "default" }, spec: { containers: [{ name: "web", image }] } });
  const untilReady = (name: string) =>
    eventually(async () => {
      const pod = await client.get(Pod, `default/${name}`);
      expect(isTrue(pod.status?.conditions, "Ready")).toBe(true);
      return pod;
    });
  const removePod = (name: string) => client.delete(Pod, `default/${name}`, { gracePeriodSeconds: 0 });

  /** Somebody who may do what the role says. */
  async function identified(user: string, role: string): Promise<Caller> {
    const raw = await rawClient(server);
    const caller = await certified(raw, user, []);
    raw.close();
    await client.create(ClusterRoleBinding, {
      metadata: { name: `${role}-${user}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
    });
    return caller;
  }

  /** Asks the node itself, past the API server. */
  async function ask(node: string, path: string, caller: Caller = {}): Promise<{ code: number; text: string }> {
    const { status } = await client.get(Node, node);
    const port = status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
    const agent = new Agent({ ca: server.authority, ...caller });
    return new Promise((resolve, reject) => {
      const asked = request({ host: "127.0.0.1", port, path, agent }, async (answer) => {
        let text = "";
        for await (const chunk of answer) text += chunk;
        resolve({ code: answer.statusCode ?? 0, text });
        agent.destroy();
      });
      asked.once("error", reject);
      asked.end();
    });
  }

  async function humble(user: string, role: ClusterRole): Promise<Kubeconfig> {
    await client.create(ClusterRole, role);
    const { cert = "", key = "" } = await identified(user, role.metadata.name);
    return kubeconfigFor({ name: "n", server: server.url, ca: server.authority, cert, key });
  }

  it("run with the rights that are documented, and no more are needed", async () => {
    const [role] = await documentedRoles();
    if (!role) throw new Error("no role is documented");
    const nodes = await run(["humble"], { kubeconfig: await humble("node-runner", role) });
    await makePod("humble-pod");
    const pod = await untilReady("humble-pod");
    expect(pod.spec.nodeName).toBe("humble");
    expect(await client.raw("/api/v1/namespaces/default/pods/humble-pod/log")).toContain("simulated by Capstan");
    await client.delete(Pod, "default/humble-pod");
    await eventually(() => expect(client.get(Pod, "default/humble-pod")).rejects.toThrow("not found"));
    await stop(nodes);
  });

  it("run programs with the rights that are documented for it", async () => {
    const [role, more] = await documentedRoles();
    if (!role || !more) throw new Error("a role is not documented");
    const both = {
      ...role,
      metadata: { name: more.metadata.name },
      rules: [...(role.rules ?? []), ...(more.rules ?? [])],
    };
    const accounts: string[] = [];
    const nodes = await run(["modest"], {
      kubeconfig: await humble("program-runner", both),
      async program({ env, resolve, signal }) {
        accounts.push(`${env.HOSTNAME} ${await readFile(resolve(`${ACCOUNT}/namespace`), "utf8")}`);
        await new Promise((ended) => signal.addEventListener("abort", ended, { once: true }));
        return 0;
      },
    });
    await makePod("modest-pod", `capstan:${VERSION}`);
    const pod = await untilReady("modest-pod");
    expect(pod.status?.containerStatuses?.[0]?.containerID).toMatch(/^capstan:/);
    await eventually(() => expect(accounts).toEqual(["modest-pod default"]));
    await client.delete(Pod, "default/modest-pod");
    await eventually(() => expect(client.get(Pod, "default/modest-pod")).rejects.toThrow("not found"));
    await stop(nodes);
  });

  it("leave a Pod alone that they have nothing to say about, also after they were started again", async () => {
    const first = await run(["lasting"]);
    await makePod("lasting-pod");
    await untilReady("lasting-pod");
    await client.patch(Pod, "default/lasting-pod", { metadata: { labels: { looked: "at" } } });
    await makePod("lasting-witness");
    await untilReady("lasting-witness");
    const before = await client.get(Pod, "default/lasting-pod");
    running.delete(first);
    await first.stop();
    const second = await run(["lasting"]);
    await makePod("lasting-second-witness");
    await untilReady("lasting-second-witness");
    expect((await client.get(Pod, "default/lasting-pod")).metadata.resourceVersion).toBe(
      before.metadata.resourceVersion,
    );
    for (const name of ["lasting-pod", "lasting-witness", "lasting-second-witness"]) await removePod(name);
    await stop(second);
  });

  it("share Pods among them, also between processes", async () => {
    const together = await run(nodeNames("shared", 2));
    const apart = await run(["apart"]);
    const names = Array.from({ length: 9 }, (_, index) => `shared-pod-${index}`);
    await Promise.all(names.map((name) => makePod(name)));
    const pods = await Promise.all(names.map(untilReady));
    expect(new Set(pods.map(({ spec }) => spec.nodeName))).toEqual(new Set(["shared", "shared-2", "apart"]));
    expect(new Set(pods.map(({ status }) => status?.podIP)).size).toBe(names.length);
    for (const name of names) await removePod(name);
    await stop(together);
    await stop(apart);
  });

  describe("serve logs", () => {
    let nodes: RunningNodes;
    beforeAll(async () => {
      nodes = await run(["logging"]);
      await makePod("logged-pod");
      await untilReady("logged-pod");
    });
    afterAll(async () => {
      await removePod("logged-pod");
      await stop(nodes);
    });
    const LOG = "/containerLogs/default/logged-pod/web";

    it("to nobody who does not say who he is", async () => {
      expect(await ask("logging", LOG)).toEqual({ code: 401, text: "Unauthorized" });
    });

    it("to those only who may reach nodes", async () => {
      const raw = await rawClient(server);
      const stranger = await certified(raw, "stranger", []);
      raw.close();
      expect((await ask("logging", LOG, stranger)).code).toBe(403);
      await client.create(ClusterRole, {
        metadata: { name: "reach-nodes" },
        rules: [{ apiGroups: [""], resources: ["nodes/proxy"], verbs: ["get"] }],
      });
      const friend = await identified("friend", "reach-nodes");
      expect(await ask("logging", LOG, friend)).toMatchObject({ code: 200 });
      expect(await ask("logging", "/healthz", friend)).toEqual({ code: 200, text: "ok" });
      expect((await ask("logging", "/exec/default/logged-pod/web", friend)).code).toBe(501);
      expect((await ask("logging", "/containerLogs/default/other/web", friend)).code).toBe(404);
      expect((await ask("logging", "/etc/passwd", friend)).code).toBe(404);
    });

    it("until the Pod is gone, to those who follow", async () => {
      await makePod("followed");
      await untilReady("followed");
      const followed = client.raw("/api/v1/namespaces/default/pods/followed/log?follow=true");
      await client.delete(Pod, "default/followed");
      expect(await followed).toContain("simulated by Capstan");
    });
  });
}
