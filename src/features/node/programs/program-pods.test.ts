import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Container, Pod, type PodSpec } from "#api/core";
import { eventually } from "../../../../test/support/eventually.ts";
import type { FakeCluster } from "../../../../test/support/index.ts";
import { container, IMAGE, KEY, mounted, pod, startProgramNode } from "../../../../test/support/program-node.ts";

const PROBE = { httpGet: { path: "/readyz", port: 8000 } };

describe("a container of Capstan's own image", () => {
  it("really runs, with all that it is told", async () => {
    const node = await startProgramNode([
      Pod,
      pod({ containers: [container({ args: ["hub", "--on=$(WHERE)"], env: [{ name: "WHERE", value: "here" }] })] }),
    ]);
    const { context } = await node.program(0);
    expect(context.args).toEqual(["hub", "--on=here"]);
    expect(context.env).toEqual({
      HOSTNAME: "p",
      WHERE: "here",
      KUBERNETES_SERVICE_HOST: "::1",
      KUBERNETES_SERVICE_PORT: "6443/clusters/hub",
      KUBERNETES_SERVICE_PORT_HTTPS: "6443",
    });
    expect(node.phase()).toBe("Running");
    expect(node.status()).toMatchObject({
      ready: true,
      started: true,
      restartCount: 0,
      containerID: expect.stringMatching(/^capstan:\/\/[0-9a-f]{64}$/),
      imageID: expect.stringMatching(/^capstan@sha256:/),
    });
  });

  it("knows its address from the beginning", async () => {
    const valueFrom = { fieldRef: { fieldPath: "status.podIP" } };
    const node = await startProgramNode([Pod, pod({ containers: [container({ env: [{ name: "IP", valueFrom }] })] })]);
    expect((await node.program(0)).context.env.IP).toMatch(/^10\.200\./);
  });

  it("with a readiness probe is ready when it says so", async () => {
    const node = await startProgramNode([Pod, pod({ containers: [container({ readinessProbe: PROBE })] })]);
    const { context } = await node.program(0);
    expect(node.status()).toMatchObject({ ready: false, started: true });
    context.ready();
    await node.settled(() => expect(node.status()?.ready).toBe(true));
    const writes = node.cluster.writes.length;
    context.ready();
    await node.settled(() => expect(node.cluster.writes).toHaveLength(writes));
  });

  it("is restarted at once, then later and later, and at once again when it has lasted", async () => {
    const node = await startProgramNode([Pod, pod()]);
    const crash = async (n: number) => {
      const { context, end } = await node.program(n);
      context.write(`run ${n}`);
      end(1);
    };
    const waits = async (back: string, ms: number) => {
      await node.settled(() =>
        expect(node.status()?.state?.waiting).toMatchObject({
          reason: "CrashLoopBackOff",
          message: expect.stringContaining(`back-off ${back} `),
        }),
      );
      const before = node.begun.length;
      await node.pass(ms - 1);
      expect(node.begun).toHaveLength(before);
      await node.pass(1);
    };
    await crash(0);
    await crash(1);
    expect(node.status()).toMatchObject({ restartCount: 1 });
    await waits("10s", 10_000);
    await crash(2);
    await waits("20s", 20_000);
    await node.program(3);
    await node.pass(601_000);
    await crash(3);
    await crash(4);
    expect(node.status()).toMatchObject({
      restartCount: 4,
      lastState: { terminated: { exitCode: 1, reason: "Error", message: "run 3" } },
    });
    await waits("10s", 10_000);
    await node.program(5);
  });

  it("that throws has failed, with the error in its log, and its last words are in the status", async () => {
    const node = await startProgramNode([Pod, pod({ restartPolicy: "Never" })]);
    (await node.program(0)).fail(new Error("out of luck"));
    await node.settled(() => expect(node.phase()).toBe("Failed"));
    expect(node.status()?.state?.terminated).toMatchObject({
      exitCode: 1,
      message: expect.stringContaining("out of luck"),
    });
    expect(node.begun).toHaveLength(1);
  });

  it("that succeeds has succeeded, where it is not kept running", async () => {
    const node = await startProgramNode([Pod, pod({ restartPolicy: "OnFailure" })]);
    (await node.program(0)).end(0);
    await node.settled(() => expect(node.phase()).toBe("Succeeded"));
    expect(node.status()?.state?.terminated).toMatchObject({ exitCode: 0, reason: "Completed" });
    expect(node.status()?.state?.terminated?.message).toBeUndefined();
  });

  it("is not begun twice although somebody wrote to the Pod at the same time", async () => {
    const node = await startProgramNode([Pod, pod()]);
    const { end } = await node.program(0);
    let labels = 0;
    node.cluster.beforeWrite(({ kind, subresource }) => {
      if (kind !== "Pod" || subresource !== "status" || labels >= 2) return;
      const current = node.cluster.read(Pod, KEY);
      if (current)
        node.cluster.put(Pod, { ...current, metadata: { ...current.metadata, labels: { n: `${++labels}` } } });
    });
    end(1);
    await node.settled(() => expect(node.status()).toMatchObject({ ready: true, restartCount: 1 }));
    expect(labels).toBe(2);
    expect(node.begun).toHaveLength(2);
  });

  it("began elsewhere and ended with it: it is begun again without waiting, however often that happened", async () => {
    const running = { running: { startedAt: "2026-01-01T00:00:00Z" } };
    const known = { name: "main", image: IMAGE, imageID: "x", ready: true, restartCount: 7 };
    const reported = { ...known, containerID: "capstan://gone", state: running };
    const node = await startProgramNode([
      Pod,
      pod({}, { status: { phase: "Running", containerStatuses: [reported] } }),
    ]);
    await node.program(0);
    expect(node.status()).toMatchObject({
      ready: true,
      restartCount: 8,
      lastState: { terminated: { exitCode: 255, reason: "Unknown", containerID: "capstan://gone" } },
    });
    const current = node.cluster.read(Pod, KEY);
    if (!current) throw new Error("the Pod is gone");
    const lost = node.runner.log(current, container(), { began: node.clock.now(), containerID: "capstan://gone" });
    expect(lost.written[0]?.text).toContain("is gone");
    await node.restart();
    await node.program(1);
    expect(node.status()).toMatchObject({ ready: true, restartCount: 9 });
  });

  it("that was simulated until the node heard whose image it is begins anew", async () => {
    const state = { running: { startedAt: "2026-01-01T00:00:00Z" } };
    const known = { name: "main", image: IMAGE, imageID: "x", ready: true, restartCount: 0 };
    const reported = { ...known, containerID: "simulated://x", state };
    const node = await startProgramNode([
      Pod,
      pod({}, { status: { phase: "Running", containerStatuses: [reported] } }),
    ]);
    await node.program(0);
    expect(node.status()?.containerID).toMatch(/^capstan:/);
  });

  it("ends when its image is replaced, and the new one begins when it has", async () => {
    const node = await startProgramNode([Pod, pod()]);
    const { context, end } = await node.program(0);
    const current = node.cluster.read(Pod, KEY);
    if (!current) throw new Error("the Pod is gone");
    const containers = [container({ image: "nginx:1" })];
    node.cluster.put(Pod, { ...current, spec: { ...current.spec, containers } });
    await node.settled(() => expect(context.signal.aborted).toBe(true));
    expect(node.status()).toMatchObject({ image: IMAGE, state: { running: {} } });
    end(0);
    await node.settled(() =>
      expect(node.status()).toMatchObject({
        image: "nginx:1",
        containerID: expect.stringMatching(/^simulated:/),
        restartCount: 1,
        lastState: { terminated: { exitCode: 0, containerID: expect.stringMatching(/^capstan:/) } },
      }),
    );
  });

  it.each<[what: string, more: Partial<Container>, spec: Partial<PodSpec>, waiting: object]>([
    [
      "another program",
      { command: ["sh"] },
      {},
      { reason: "CreateContainerConfigError", message: expect.stringContaining('"sh": executable file not found') },
    ],
    [
      "a ConfigMap",
      { envFrom: [{ configMapRef: { name: "absent" } }] },
      {},
      { reason: "CreateContainerConfigError", message: 'configmap "absent" not found' },
    ],
    [
      "a volume of another kind",
      mounted("disk", "/disk"),
      { volumes: [{ name: "disk", hostPath: { path: "/" } }] },
      { reason: "ContainerCreating" },
    ],
  ])("waits for %s, and says so", async (_, more, spec, waiting) => {
    const node = await startProgramNode([Pod, pod({ containers: [container(more)], ...spec })]);
    await node.settled(() => expect(node.status()?.state?.waiting).toEqual(waiting));
    expect(node.phase()).toBe("Pending");
    expect(node.begun).toEqual([]);
    if (!spec.volumes) return;
    await node.settled(() =>
      expect(node.told()).toContainEqual(
        expect.stringMatching(/^FailedMount: MountVolume.SetUp failed for volume "disk" : a volume of kind hostPath/),
      ),
    );
  });
});

describe("a Pod that ends", () => {
  const deleted = (cluster: FakeCluster, grace: number) => {
    const current = cluster.read(Pod, KEY);
    if (!current) throw new Error("the Pod is gone");
    const metadata = {
      ...current.metadata,
      deletionTimestamp: "2026-01-01T00:00:30Z",
      deletionGracePeriodSeconds: grace,
    };
    cluster.put(Pod, { ...current, metadata });
  };
  /** The state of the container in the last report. */
  const lastReport = ({ writes }: FakeCluster): unknown =>
    writes.filter(({ kind, subresource }) => kind === "Pod" && subresource === "status").at(-1)?.body;

  it("is gone as soon as its programs have ended, and without the pause of simulated ones", async () => {
    const node = await startProgramNode([Pod, pod()]);
    const { context, end } = await node.program(0);
    deleted(node.cluster, 30);
    await node.settled(() => expect(context.signal.aborted).toBe(true));
    expect(node.cluster.read(Pod, KEY)).toBeDefined();
    end(0);
    await node.settled(() => expect(node.cluster.read(Pod, KEY)).toBeUndefined());
    expect(lastReport(node.cluster)).toMatchObject({
      status: { phase: "Succeeded", containerStatuses: [{ state: { terminated: { exitCode: 0 } } }] },
    });
  });

  it("gives up programs that do not want to when the time is over, which may become less", async () => {
    const node = await startProgramNode([Pod, pod()]);
    await node.program(0);
    deleted(node.cluster, 30);
    await node.settled(() => expect(node.begun[0]?.context.signal.aborted).toBe(true));
    await node.pass(5_000);
    expect(node.cluster.read(Pod, KEY)).toBeDefined();
    deleted(node.cluster, 2);
    await node.settled(() => {});
    await node.pass(1_999);
    expect(node.cluster.read(Pod, KEY)).toBeDefined();
    await node.pass(1);
    await node.settled(() => expect(node.cluster.read(Pod, KEY)).toBeUndefined());
    expect(lastReport(node.cluster)).toMatchObject({
      status: { phase: "Failed", containerStatuses: [{ state: { terminated: { exitCode: 137 } } }] },
    });
  });

  it("waits for programs and for what is simulated", async () => {
    const containers = [container(), { name: "web", image: "nginx:1" }];
    const node = await startProgramNode([Pod, pod({ containers })]);
    const { end } = await node.program(0);
    deleted(node.cluster, 30);
    await node.settled(() => expect(node.begun[0]?.context.signal.aborted).toBe(true));
    end(0);
    await node.settled(() => {});
    expect(node.cluster.read(Pod, KEY)).toBeDefined();
    await node.pass(1_000);
    await node.settled(() => expect(node.cluster.read(Pod, KEY)).toBeUndefined());
  });

  it("that was active for too long has its programs ended", async () => {
    const node = await startProgramNode([Pod, pod({ activeDeadlineSeconds: 60 })]);
    const { context } = await node.program(0);
    await node.pass(60_000);
    await node.settled(() => expect([node.phase(), context.signal.aborted]).toEqual(["Failed", true]));
  });

  it("takes its sidecars with it, and its files, but not its logs", async () => {
    const sidecar = container({ name: "side", restartPolicy: "Always", ...mounted("scratch", "/tmp") });
    const volumes = [{ name: "scratch", emptyDir: {} }];
    const node = await startProgramNode([Pod, pod({ restartPolicy: "Never", initContainers: [sidecar], volumes })]);
    const side = await node.program(0);
    const main = await node.program(1);
    main.context.write("done");
    main.end(0);
    await node.settled(() => expect([node.phase(), side.context.signal.aborted]).toEqual(["Succeeded", true]));
    side.end(0);
    await eventually(() => expect(existsSync(join(node.root, "uid-1"))).toBe(false));
    const current = node.cluster.read(Pod, KEY);
    if (!current) throw new Error("the Pod is gone");
    const containerID = node.status()?.containerID ?? "";
    const { written } = node.runner.log(current, container(), { began: node.clock.now(), containerID });
    expect(written.map(({ text }) => text)).toEqual(["done"]);
  });

  it("of which the node knows nothing any more is let go", async () => {
    const state = { running: { startedAt: "2026-01-01T00:00:00Z" } };
    const known = { name: "main", image: IMAGE, imageID: "x", ready: true, restartCount: 0 };
    const reported = { ...known, containerID: "capstan://gone", state };
    const node = await startProgramNode();
    node.cluster.put(Pod, {
      ...pod({}, { status: { phase: "Running", containerStatuses: [reported] } }),
      metadata: {
        ...pod().metadata,
        deletionTimestamp: "2026-01-01T00:00:30Z",
        deletionGracePeriodSeconds: 30,
      },
    });
    await node.settled(() => expect(node.cluster.read(Pod, KEY)).toBeUndefined());
    expect(node.begun).toEqual([]);
  });
});

describe("a node that stops", () => {
  it("asks its programs to end, gives up those that do not, and begins none", async () => {
    const node = await startProgramNode([Pod, pod()]);
    const { context } = await node.program(0);
    const before = node.status();
    const closed = node.programs.close();
    expect(context.signal.aborted).toBe(true);
    let isClosed = false;
    void closed.then(() => {
      isClosed = true;
    });
    await node.pass(4_999);
    expect(isClosed).toBe(false);
    await node.pass(1);
    await closed;
    await node.settled(() => expect(node.status()).toEqual(before));
    node.cluster.put(Pod, { ...pod(), metadata: { name: "q", namespace: "ns", uid: "uid-2" } });
    await node.settled(() => expect(node.begun).toHaveLength(1));
  });
});
