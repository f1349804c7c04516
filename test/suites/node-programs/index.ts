/** What must hold of Pods of Capstan's own image on any API server: they really run. */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Deployment } from "#api/apps";
import { type Container, Event, Node, Pod, type PodSpec, Secret, ServiceAccount } from "#api/core";
import { type RunningNodes, startNodes } from "#app";
import { type Client, connectionOf, createClient } from "#kube";
import { systemClock } from "#lib/clock";
import { isTrue } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { eventually } from "../../support/eventually.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";
import { type Programs, programs } from "./programs.ts";

const IMAGE = "registry.example/capstan:test";
const CHILD = fileURLToPath(new URL("./child.mjs", import.meta.url));
const PROBE = { httpGet: { path: "/readyz", port: 8000 } };

export function nodeProgramsSuite(start: StartServer): void {
  let server: TestServer;
  let client: Client;
  let root: string;
  let nodes: RunningNodes;
  let own: Programs;

  beforeAll(async () => {
    server = await start("programs");
    ({ client } = server);
    root = await mkdtemp(join(tmpdir(), "capstan-programs-"));
    own = programs();
    nodes = await run("programs");
    await eventually(() => client.get(ServiceAccount, "default/default"));
  }, 120_000);
  afterAll(async () => {
    await nodes?.stop();
    await server?.close();
    await rm(root, { recursive: true, force: true });
  }, 60_000);

  async function run(name: string, options: { isolatedBy?: string } = {}): Promise<RunningNodes> {
    const running = startNodes({
      client: createClient({ connection: await connectionOf(server.kubeconfig) }),
      names: [name],
      version: "0.0.0-test",
      own: {
        image: IMAGE,
        run: own.run,
        root,
        server: { url: server.url, ca: server.authority },
        ...options,
      },
      clock: systemClock,
      log: silentLog,
    });
    await running.registered;
    await eventually(async () => expect((await client.get(Node, name)).spec?.taints ?? []).toEqual([]));
    return running;
  }

  const container = (args: string[], more: Partial<Container> = {}): Container => ({
    name: "capstan",
    image: IMAGE,
    args,
    readinessProbe: PROBE,
    ...more,
  });
  const makePod = (name: string, spec: Partial<PodSpec> & { containers: Container[] }) =>
    client.create(Pod, { metadata: { name, namespace: "default" }, spec: { nodeName: "programs", ...spec } });
  const podOf = (name: string) => client.get(Pod, `default/${name}`);
  const statusOf = async (name: string) => (await podOf(name)).status?.containerStatuses?.[0];
  const untilReady = (name: string) =>
    eventually(async () => {
      const pod = await podOf(name);
      expect(isTrue(pod.status?.conditions, "Ready")).toBe(true);
      return pod;
    });
  const untilGone = (name: string) => eventually(() => expect(podOf(name)).rejects.toThrow("not found"));
  const logOf = (name: string, query = "") => client.raw(`/api/v1/namespaces/default/pods/${name}/log${query}`);
  const eventsOf = async (name: string) =>
    (await client.list(Event, { namespace: "default" })).items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ reason, message }) => `${reason}: ${message}`);
  const remove = async (name: string) => {
    await client.delete(Pod, `default/${name}`);
    await untilGone(name);
  };

  it("are who their service account says, and their log can be read and followed", async () => {
    await makePod("who", { containers: [container(["whoami"])] });
    const pod = await untilReady("who");
    expect(pod.status?.containerStatuses?.[0]).toMatchObject({
      containerID: expect.stringMatching(/^capstan:\/\/[0-9a-f]{64}$/),
      restartCount: 0,
      state: { running: {} },
    });
    expect(await logOf("who")).toBe("I am system:serviceaccount:default:default\n");
    const followed = logOf("who", "?follow=true&timestamps=true");
    await remove("who");
    expect(await followed).toMatch(/^\d{4}-\S+Z I am system:serviceaccount:default:default\n$/);
  });

  it("are replaced in a rollout, and see the new arguments", async () => {
    const spec = (arg: string) => ({
      replicas: 2,
      selector: { matchLabels: { app: "rolled" } },
      template: { metadata: { labels: { app: "rolled" } }, spec: { containers: [container([arg])] } },
    });
    await client.create(Deployment, { metadata: { name: "rolled", namespace: "default" }, spec: spec("first") });
    const available = (generation: number) =>
      eventually(async () => {
        const { status } = await client.get(Deployment, "default/rolled");
        expect(status).toMatchObject({
          observedGeneration: generation,
          updatedReplicas: 2,
          availableReplicas: 2,
          replicas: 2,
        });
      });
    await available(1);
    const pods = async () => (await client.list(Pod, { namespace: "default", labelSelector: "app=rolled" })).items;
    const first = await pods();
    expect(first.map(({ metadata }) => own.of(metadata.name)[0]?.args)).toEqual([["first"], ["first"]]);
    await client.patch(Deployment, "default/rolled", { spec: { template: spec("second").template } });
    await available(2);
    await eventually(async () => expect(await pods()).toHaveLength(2));
    expect((await pods()).map(({ metadata }) => own.of(metadata.name)[0]?.args)).toEqual([["second"], ["second"]]);
    expect(first.map(({ metadata }) => own.of(metadata.name)[0]?.signal.aborted)).toEqual([true, true]);
    await client.delete(Deployment, "default/rolled", { propagationPolicy: "Foreground" });
    await eventually(async () => expect(await pods()).toEqual([]));
  });

  it("wait for what they need, and see changes of it in their files", async () => {
    await makePod("reader", {
      containers: [
        container(["serve"], {
          env: [{ name: "COLOUR", valueFrom: { secretKeyRef: { name: "paint", key: "colour" } } }],
          volumeMounts: [{ name: "paint", mountPath: "/etc/paint" }],
        }),
      ],
      volumes: [{ name: "paint", secret: { secretName: "paint" } }],
    });
    await eventually(async () => {
      expect(await statusOf("reader")).toMatchObject({
        state: { waiting: { reason: "CreateContainerConfigError", message: 'secret "paint" not found' } },
      });
      expect(await eventsOf("reader")).toContain(
        'FailedMount: MountVolume.SetUp failed for volume "paint" : secret "paint" not found',
      );
    });
    const colour = (text: string) => ({ data: { colour: Buffer.from(text).toString("base64") } });
    await client.create(Secret, { metadata: { name: "paint", namespace: "default" }, ...colour("red") });
    await untilReady("reader");
    const [context] = own.of("reader");
    const file = context?.resolve("/etc/paint/colour") ?? "";
    expect([context?.env.COLOUR, await readFile(file, "utf8")]).toEqual(["red", "red"]);
    await client.patch(Secret, "default/paint", colour("blue"));
    await eventually(async () => expect(await readFile(file, "utf8")).toBe("blue"));
    const { metadata } = await podOf("reader");
    expect(existsSync(join(root, metadata.uid ?? ""))).toBe(true);
    await remove("reader");
    await eventually(() => expect(existsSync(join(root, metadata.uid ?? ""))).toBe(false));
  });

  it("crash, are tried again, and then have to wait", async () => {
    await makePod("crasher", { containers: [container(["crash"])] });
    await eventually(async () => {
      expect(await statusOf("crasher")).toMatchObject({
        restartCount: 1,
        state: { waiting: { reason: "CrashLoopBackOff" } },
        lastState: { terminated: { exitCode: 3, reason: "Error", message: "no luck today" } },
      });
    });
    expect(await logOf("crasher", "?previous=true")).toBe("no luck today\n");
    await remove("crasher");
  });

  it("end with an exit code where they are meant to end, and a fault is no fault of the node", async () => {
    await makePod("thrower", { restartPolicy: "Never", containers: [container(["throw"])] });
    await eventually(async () => expect((await podOf("thrower")).status?.phase).toBe("Failed"));
    expect((await statusOf("thrower"))?.state?.terminated).toMatchObject({
      exitCode: 1,
      message: expect.stringContaining("a fault in the program"),
    });
    await remove("thrower");
  });

  it("are ready only when they say so, and get the time that they are given to end", async () => {
    await makePod("slow", { containers: [container(["unready"])] });
    await eventually(async () => expect(await statusOf("slow")).toMatchObject({ started: true, ready: false }));
    await makePod("stubborn", { terminationGracePeriodSeconds: 1, containers: [container(["stubborn"])] });
    await untilReady("stubborn");
    await Promise.all([remove("slow"), remove("stubborn")]);
    expect(own.of("stubborn")[0]?.signal.aborted).toBe(true);
  });

  it("share a Pod with simulated containers", async () => {
    await makePod("mixed", { containers: [container(["serve"]), { name: "web", image: "nginx:1" }] });
    await untilReady("mixed");
    expect(await logOf("mixed", "?container=capstan")).toBe("serving serve\n");
    expect(await logOf("mixed", "?container=web")).toContain("simulated by Capstan");
    await remove("mixed");
  });

  it("run again after the node did, with one more restart and without waiting", async () => {
    const first = await run("restarted");
    await makePod("survivor", { nodeName: "restarted", containers: [container(["serve"])] });
    await untilReady("survivor");
    await first.stop();
    expect(own.of("survivor")[0]?.signal.aborted).toBe(true);
    const second = await run("restarted");
    await eventually(async () => {
      expect(await statusOf("survivor")).toMatchObject({
        ready: true,
        restartCount: 1,
        lastState: { terminated: { exitCode: 255, reason: "Unknown" } },
      });
    });
    expect(own.of("survivor")).toHaveLength(2);
    expect(await logOf("survivor", "?previous=true")).toContain("is gone");
    await remove("survivor");
    await second.stop();
    await client.delete(Node, "restarted");
  });

  it("are processes of their own where that is asked for, and none of them is left behind", async () => {
    process.env.OF_THE_NODE = "leaked";
    const isolated = await run("isolated", { isolatedBy: CHILD });
    const env = [{ name: "COLOUR", value: "green" }];
    const spec = (arg: string) => ({ nodeName: "isolated", containers: [container([arg], { env })] });
    await makePod("child", spec("serve"));
    await makePod("crashed-child", { ...spec("crash"), restartPolicy: "Never" });
    await untilReady("child");
    const text = await eventually(async () => {
      const log = await logOf("child");
      expect(log).toContain("namespace default");
      return log;
    });
    expect(text).toContain("args serve\ncolour green, secret of the node undefined\n");
    const pid = Number(/pid (\d+)/.exec(text)?.[1]);
    expect(isAlive(pid)).toBe(true);
    await eventually(async () =>
      expect((await statusOf("crashed-child"))?.state?.terminated).toMatchObject({ exitCode: 4 }),
    );
    await remove("child");
    await eventually(() => expect(isAlive(pid)).toBe(false));
    await makePod("left", { ...spec("stubborn"), terminationGracePeriodSeconds: 1 });
    await untilReady("left");
    const other = Number(/pid (\d+)/.exec(await eventually(() => logOf("left")))?.[1]);
    await isolated.stop();
    expect(isAlive(other)).toBe(false);
    for (const name of ["left", "crashed-child"])
      await client.delete(Pod, `default/${name}`, { gracePeriodSeconds: 0 });
    await client.delete(Node, "isolated");
  });

  it("leave nothing in the folder of the node", async () => {
    await eventually(async () => expect(await readdir(root)).toEqual([]));
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
