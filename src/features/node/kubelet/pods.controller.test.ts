import { describe, expect, it, onTestFinished } from "vitest";
import { type Event, Node, Pod, type PodSpec, type PodStatus } from "#api/core";
import { ManualClock } from "#lib/clock";
import { silentLog as log } from "#lib/log";
import { type FakeCluster, fakeCluster, startControllers } from "../../../../test/support/index.ts";
import { eventTeller } from "../events.ts";
import { SimulatedPods } from "../simulation/simulated-pods.ts";
import { podsController } from "./pods.controller.ts";

const NODE = "n1";
const KEY = "ns/p";

interface PodDraft {
  name?: string;
  uid?: string;
  annotations?: Record<string, string>;
  /** `Job` makes it the Pod of one. */
  owner?: string;
  finalizers?: string[];
  spec?: Partial<PodSpec>;
  status?: PodStatus;
  /** Deleted, with so many seconds to end. */
  grace?: number;
}

/** A Pod on the node with one container, unless told otherwise. */
function pod({ name = "p", uid = "uid-1", annotations, owner, finalizers, spec, status, grace }: PodDraft = {}) {
  return {
    metadata: {
      name,
      namespace: "ns",
      uid,
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ...(owner !== undefined && {
        ownerReferences: [{ apiVersion: "batch/v1", kind: owner, name: "owner", uid: "uid-o", controller: true }],
      }),
      ...(grace !== undefined && {
        deletionTimestamp: "2026-01-01T00:00:30Z",
        deletionGracePeriodSeconds: grace,
      }),
    },
    spec: {
      nodeName: NODE,
      restartPolicy: "Always" as const,
      containers: [{ name: "web", image: "nginx:1" }],
      ...spec,
    },
    ...(status && { status }),
  };
}

interface Kubelet {
  readonly cluster: FakeCluster;
  readonly clock: ManualClock;
  /** Lets it work until it has nothing to do now. */
  quiet(): Promise<void>;
  /** Moves time on, then lets it work. */
  pass(ms: number): Promise<void>;
  /** Ends it as a process that is killed, and starts another on what the server has. */
  restart(): Promise<void>;
  pod(key?: string): Pod | undefined;
  status(key?: string): PodStatus;
  /** `Reason: message` of all Events, oldest first. */
  told(): string[];
  /** `verb Kind/subresource` of all writes but Events. */
  writes(): string[];
}

async function kubelet(...drafts: ReturnType<typeof pod>[]): Promise<Kubelet> {
  const clock = new ManualClock();
  const cluster = fakeCluster(
    { clock },
    [Node, { metadata: { name: NODE, labels: { "kubernetes.io/os": "linux" } }, spec: { podCIDR: "10.200.0.0/18" } }],
    [Pod, ...drafts],
  );
  const start = () => {
    const runner = new SimulatedPods({ clock });
    const events = eventTeller({ component: "kubelet", host: NODE, client: cluster.client, clock, log });
    const teller = () => events;
    const nodes = new Set([NODE]);
    return startControllers([podsController({ cluster, nodes, hostIP: "127.0.0.1", runner, teller, clock })], {
      clock,
    });
  };
  let running = start();
  onTestFinished(() => running.stop());
  await running.quiet();
  return {
    cluster,
    clock,
    quiet: () => running.quiet(),
    async pass(ms) {
      clock.advance(ms);
      await running.quiet();
    },
    async restart() {
      await running.stop();
      running = start();
      await running.quiet();
    },
    pod: (key = KEY) => cluster.read(Pod, key),
    status: (key = KEY) => cluster.read(Pod, key)?.status ?? {},
    told: () =>
      cluster.writes
        .filter(({ verb, kind }) => verb === "create" && kind === "Event")
        .map(({ body }) => body as Event)
        .map(({ reason, message }) => `${reason}: ${message}`),
    writes: () =>
      cluster.writes
        .filter(({ kind }) => kind !== "Event")
        .map(({ verb, kind, subresource }) => `${verb} ${kind}${subresource ? `/${subresource}` : ""}`),
  };
}

/** `Ready=False ContainersNotReady`, each condition in a word or two. */
function conditions({ conditions = [] }: PodStatus): Record<string, string> {
  return Object.fromEntries(conditions.map(({ type, status, reason = "" }) => [type, `${status} ${reason}`.trim()]));
}

const annotated = (name: string, value: string) => ({ [`simulate.capstan.dev/${name}`]: value });

describe("a Pod on a node", () => {
  it("is ready at once, with one write", async () => {
    const node = await kubelet(pod());
    expect(node.status()).toEqual({
      observedGeneration: 1,
      phase: "Running",
      conditions: ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].map(
        (type) => ({
          type,
          observedGeneration: 1,
          status: "True",
          lastProbeTime: null,
          lastTransitionTime: "2026-01-01T00:00:00Z",
        }),
      ),
      hostIP: "127.0.0.1",
      hostIPs: [{ ip: "127.0.0.1" }],
      podIP: "10.200.0.1",
      podIPs: [{ ip: "10.200.0.1" }],
      startTime: "2026-01-01T00:00:00Z",
      containerStatuses: [
        {
          name: "web",
          image: "nginx:1",
          imageID: expect.stringMatching(/^nginx@sha256:[0-9a-f]{64}$/),
          containerID: expect.stringMatching(/^simulated:\/\/[0-9a-f]{64}$/),
          ready: true,
          started: true,
          restartCount: 0,
          state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
          lastState: {},
        },
      ],
    });
    expect(node.writes()).toEqual(["patch Pod/status"]);
    expect(node.told()).toEqual([
      'Pulled: Container image "nginx:1" already present on machine',
      "Created: Container created",
      "Started: Container started",
    ]);
  });

  it("is left alone when nothing changes, also by a node that starts again", async () => {
    const node = await kubelet(pod());
    node.cluster.writes.length = 0;
    await node.pass(3_600_000);
    await node.restart();
    await node.pass(3_600_000);
    expect(node.cluster.writes).toEqual([]);
  });

  it("is none of our business on another node", async () => {
    const node = await kubelet(pod({ spec: { nodeName: "n2" } }));
    expect(node.cluster.writes).toEqual([]);
  });

  it("has the address of the host when it uses the host's network", async () => {
    const node = await kubelet(pod({ spec: { hostNetwork: true } }));
    expect(node.status()).toMatchObject({ hostIP: "127.0.0.1", podIP: "127.0.0.1" });
  });

  it.each<[why: string, spec: Partial<PodSpec>, reason: string]>([
    ["another system", { os: { name: "windows" } }, "PodOSNotSupported"],
    ["a label that the node has not", { nodeSelector: { disk: "ssd" } }, "NodeAffinity"],
  ])("is not taken if it asks for %s", async (_, spec, reason) => {
    const node = await kubelet(pod({ spec }));
    expect(node.status()).toMatchObject({ phase: "Failed", reason });
    expect(node.status().containerStatuses).toBeUndefined();
    expect(node.told()).toEqual([expect.stringContaining(`${reason}: `)]);
  });

  it("stays although its node is labelled otherwise later", async () => {
    const node = await kubelet(pod({ spec: { nodeSelector: { "kubernetes.io/os": "linux" } } }));
    expect(node.status().phase).toBe("Running");
    node.cluster.put(Node, { metadata: { name: NODE }, spec: { podCIDR: "10.200.0.0/18" } });
    node.cluster.put(Pod, {
      ...pod({ spec: { nodeSelector: { "kubernetes.io/os": "linux" } } }),
      status: node.status(),
    });
    await node.quiet();
    expect(node.status().phase).toBe("Running");
  });

  it("waits until its node has a range of addresses", async () => {
    const node = await kubelet();
    node.cluster.put(Node, { metadata: { name: NODE }, spec: {} });
    node.cluster.put(Pod, pod());
    await node.quiet();
    expect(node.status()).toEqual({});
    node.cluster.put(Node, { metadata: { name: NODE }, spec: { podCIDR: "10.201.0.0/18" } });
    await node.quiet();
    expect(node.status().podIP).toBe("10.201.0.1");
  });

  it("keeps what others say of it", async () => {
    const disrupted = { type: "DisruptionTarget", status: "True" as const, reason: "PreemptionByScheduler" };
    const node = await kubelet(pod({ status: { qosClass: "BestEffort", conditions: [disrupted] } }));
    expect(node.status()).toMatchObject({ qosClass: "BestEffort", phase: "Running" });
    expect(node.status().conditions).toContainEqual(disrupted);
  });

  it("is ready only when its gates are open", async () => {
    const gated = { readinessGates: [{ conditionType: "example.com/in-load-balancer" }] };
    const node = await kubelet(pod({ spec: gated }));
    expect(conditions(node.status())).toMatchObject({ Ready: "False ReadinessGatesNotReady", ContainersReady: "True" });
    const { status = {} } = node.pod() ?? {};
    const open = { type: "example.com/in-load-balancer", status: "True" as const };
    node.cluster.put(
      Pod,
      pod({ spec: gated, status: { ...status, conditions: [...(status.conditions ?? []), open] } }),
    );
    await node.quiet();
    expect(conditions(node.status())).toMatchObject({ Ready: "True", "example.com/in-load-balancer": "True" });
  });

  it("says that it is ready again after the server said that its node is not", async () => {
    const node = await kubelet(pod());
    const { status = {} } = node.pod() ?? {};
    const unready = (status.conditions ?? []).map((each) =>
      each.type === "Ready" ? { ...each, status: "False" as const } : each,
    );
    node.cluster.put(Pod, pod({ status: { ...status, conditions: unready } }));
    await node.quiet();
    expect(conditions(node.status()).Ready).toBe("True");
  });
});

describe("wishes of a Pod", () => {
  it("can be to take its time", async () => {
    const node = await kubelet(pod({ annotations: annotated("ready-after", "5s") }));
    expect(node.status().phase).toBe("Running");
    expect(conditions(node.status())).toMatchObject({ Ready: "False ContainersNotReady", Initialized: "True" });
    await node.pass(4_999);
    expect(conditions(node.status()).Ready).toBe("False ContainersNotReady");
    await node.pass(1);
    expect(conditions(node.status()).Ready).toBe("True");
    expect(node.writes()).toHaveLength(2);
  });

  it("can be to wait for any reason, for as long as it says so", async () => {
    const node = await kubelet(pod({ annotations: annotated("fail", "CreateContainerConfigError") }));
    expect(node.status().phase).toBe("Pending");
    expect(node.status().containerStatuses?.[0]?.state?.waiting?.reason).toBe("CreateContainerConfigError");
    node.cluster.put(Pod, pod({ status: node.status() }));
    await node.quiet();
    expect(node.status().phase).toBe("Running");
  });

  it("can be to crash again and again, later and later", async () => {
    const node = await kubelet(pod({ annotations: annotated("fail", "CrashLoopBackOff") }));
    const [first] = node.status().containerStatuses ?? [];
    expect(node.status().phase).toBe("Running");
    expect(first).toMatchObject({
      ready: false,
      restartCount: 1,
      state: {
        waiting: {
          reason: "CrashLoopBackOff",
          message: "back-off 10s restarting failed container=web pod=p_ns(uid-1)",
        },
      },
      lastState: { terminated: { exitCode: 1, reason: "Error", containerID: expect.stringMatching(/^simulated:/) } },
    });
    await node.pass(9_999);
    expect(node.status().containerStatuses?.[0]?.restartCount).toBe(1);
    await node.pass(1);
    expect(node.status().containerStatuses?.[0]).toMatchObject({ restartCount: 2, state: { waiting: {} } });
    await node.pass(20_000);
    expect(node.status().containerStatuses?.[0]?.restartCount).toBe(3);
    expect(node.told()).toContain("BackOff: Back-off restarting failed container web in pod p_ns(uid-1)");
  });

  it("that cannot be read count as none", async () => {
    const node = await kubelet(pod({ annotations: annotated("ready-after", "soon") }));
    expect(conditions(node.status()).Ready).toBe("True");
  });
});

describe("an image that nobody has", () => {
  it("keeps the Pod pending, quietly after a moment", async () => {
    const node = await kubelet(pod({ spec: { containers: [{ name: "web", image: "nginx:404" }] } }));
    expect(node.status()).toMatchObject({ phase: "Pending", podIP: "10.200.0.1" });
    expect(node.status().containerStatuses?.[0]?.state?.waiting?.reason).toBe("ErrImagePull");
    await node.pass(1_000);
    expect(node.status().containerStatuses?.[0]?.state?.waiting?.reason).toBe("ImagePullBackOff");
    expect(node.told()).toContain('BackOff: Back-off pulling image "nginx:404"');
    node.cluster.writes.length = 0;
    await node.pass(3_600_000);
    await node.restart();
    expect(node.cluster.writes).toEqual([]);
  });

  it("is forgotten when the Pod gets another one", async () => {
    const node = await kubelet(pod({ spec: { containers: [{ name: "web", image: "nginx:404" }] } }));
    node.cluster.put(Pod, pod({ status: node.status() }));
    await node.quiet();
    expect(node.status().phase).toBe("Running");
    expect(node.status().containerStatuses?.[0]).toMatchObject({ image: "nginx:1", restartCount: 0 });
  });
});

describe("a Pod that is meant to end", () => {
  const job = (command: string[], restartPolicy: "Never" | "OnFailure" = "Never") =>
    pod({ owner: "Job", spec: { restartPolicy, containers: [{ name: "main", image: "busybox", command }] } });

  it.each<[command: string[], phase: string, exitCode: number]>([
    [["echo", "hi"], "Succeeded", 0],
    [["false"], "Failed", 1],
    [["sh", "-c", "exit 3"], "Failed", 3],
  ])("%j at once: %s", async (command, phase, exitCode) => {
    const node = await kubelet(job(command));
    expect(node.status()).toMatchObject({ phase, startTime: "2026-01-01T00:00:00Z" });
    expect(node.status().containerStatuses?.[0]).toMatchObject({
      ready: false,
      started: false,
      state: { terminated: { exitCode, reason: exitCode === 0 ? "Completed" : "Error" } },
    });
    expect(node.writes()).toEqual(["patch Pod/status"]);
  });

  it("ends when its time is over, exactly, and is then complete", async () => {
    const node = await kubelet(job(["sleep", "90"]));
    expect(node.status().phase).toBe("Running");
    await node.pass(89_999);
    expect(node.status().phase).toBe("Running");
    await node.pass(1);
    expect(node.status()).toMatchObject({ phase: "Succeeded" });
    expect(node.status().containerStatuses?.[0]?.state?.terminated).toMatchObject({
      startedAt: "2026-01-01T00:00:00Z",
      finishedAt: "2026-01-01T00:01:30Z",
    });
    expect(conditions(node.status())).toEqual({
      PodReadyToStartContainers: "False",
      Initialized: "True PodCompleted",
      Ready: "False PodCompleted",
      ContainersReady: "False PodCompleted",
      PodScheduled: "True",
    });
  });

  it("ends in time although the node was started again in between", async () => {
    const node = await kubelet(job(["sleep", "90"]));
    await node.restart();
    await node.pass(90_000);
    expect(node.status().phase).toBe("Succeeded");
  });

  it("is tried again after a failure where its policy says so", async () => {
    const node = await kubelet(job(["sh", "-c", "sleep 5; exit 2"], "OnFailure"));
    await node.pass(5_000);
    expect(node.status().containerStatuses?.[0]).toMatchObject({ restartCount: 1, state: { running: {} } });
    await node.pass(5_000);
    expect(node.status()).toMatchObject({ phase: "Running" });
    expect(node.status().containerStatuses?.[0]?.state?.waiting?.reason).toBe("CrashLoopBackOff");
    await node.pass(10_000);
    expect(node.status().containerStatuses?.[0]).toMatchObject({ restartCount: 2, state: { running: {} } });
  });

  it("succeeds when all of its containers have, and runs until then", async () => {
    const containers = [
      { name: "short", image: "busybox", command: ["sleep", "1"] },
      { name: "long", image: "busybox", command: ["sleep", "9"] },
    ];
    const node = await kubelet(pod({ owner: "Job", spec: { restartPolicy: "Never", containers } }));
    await node.pass(1_000);
    expect(node.status().phase).toBe("Running");
    expect(conditions(node.status()).Ready).toBe("False ContainersNotReady");
    await node.pass(8_000);
    expect(node.status().phase).toBe("Succeeded");
  });

  it("without a command: a Job's succeeds, because it means to end; another's runs on", async () => {
    const spec = { restartPolicy: "Never" as const, containers: [{ name: "main", image: "app:1" }] };
    expect((await kubelet(pod({ owner: "Job", spec }))).status().phase).toBe("Succeeded");
    expect((await kubelet(pod({ spec }))).status().phase).toBe("Running");
  });

  it("runs on with an image that only waits", async () => {
    const spec = {
      restartPolicy: "Never" as const,
      containers: [{ name: "main", image: "registry.k8s.io/pause:3.10" }],
    };
    expect((await kubelet(pod({ owner: "Job", spec }))).status().phase).toBe("Running");
  });

  it("is not asked for its command when it is kept running", async () => {
    const containers = [{ name: "web", image: "nginx", command: ["false"] }];
    expect((await kubelet(pod({ spec: { containers } }))).status().phase).toBe("Running");
  });

  it("fails when it takes longer than it may", async () => {
    const draft = job(["sleep", "100"]);
    const node = await kubelet({ ...draft, spec: { ...draft.spec, activeDeadlineSeconds: 30 } });
    await node.pass(30_000);
    expect(node.status()).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
    expect(node.status().containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
    expect(node.told()).toContain("DeadlineExceeded: Pod was active on the node longer than the specified deadline");
  });
});

describe("containers before the others", () => {
  const init = (command: string[], more: object = {}) => ({ name: "init", image: "busybox", command, ...more });

  it("end before the others begin, in one write where they take no time", async () => {
    const node = await kubelet(pod({ spec: { initContainers: [init(["true"])] } }));
    expect(node.status().initContainerStatuses?.[0]).toMatchObject({
      ready: true,
      started: false,
      state: { terminated: { exitCode: 0 } },
    });
    expect(node.status().phase).toBe("Running");
    expect(node.writes()).toEqual(["patch Pod/status"]);
  });

  it("take no time in a Pod that is kept running, because it should be ready at once", async () => {
    const node = await kubelet(pod({ spec: { initContainers: [init(["sleep", "60"])] } }));
    expect(conditions(node.status()).Ready).toBe("True");
  });

  it("take their time in a Pod that is meant to end", async () => {
    const containers = [{ name: "main", image: "busybox", command: ["true"] }];
    const spec = { restartPolicy: "Never" as const, initContainers: [init(["sleep", "60"])], containers };
    const node = await kubelet(pod({ spec }));
    expect(node.status().phase).toBe("Pending");
    expect(conditions(node.status()).Initialized).toBe("False ContainersNotInitialized");
    expect(node.status().containerStatuses?.[0]?.state?.waiting?.reason).toBe("PodInitializing");
    await node.pass(60_000);
    expect(node.status().phase).toBe("Succeeded");
  });

  it("are tried again when they fail, and the others wait", async () => {
    const node = await kubelet(pod({ spec: { initContainers: [init(["false"])] } }));
    expect(node.status()).toMatchObject({ phase: "Pending" });
    expect(node.status().initContainerStatuses?.[0]).toMatchObject({ restartCount: 1, state: { waiting: {} } });
    expect(node.status().containerStatuses?.[0]?.state?.waiting?.reason).toBe("PodInitializing");
  });

  it("fail the Pod where nothing is tried again", async () => {
    const node = await kubelet(pod({ spec: { restartPolicy: "Never", initContainers: [init(["false"])] } }));
    expect(node.status().phase).toBe("Failed");
    expect(node.status().containerStatuses?.[0]?.state?.waiting?.reason).toBe("PodInitializing");
  });

  it("run on beside the others as sidecars, and end with them", async () => {
    const sidecar = init(["sleep", "infinity"], { name: "side", restartPolicy: "Always" });
    const containers = [{ name: "main", image: "busybox", command: ["sleep", "5"] }];
    const node = await kubelet(
      pod({ owner: "Job", spec: { restartPolicy: "Never", initContainers: [sidecar], containers } }),
    );
    expect(node.status().initContainerStatuses?.[0]).toMatchObject({
      ready: true,
      started: true,
      state: { running: {} },
    });
    expect(conditions(node.status()).Ready).toBe("True");
    await node.pass(5_000);
    expect(node.status().phase).toBe("Succeeded");
    expect(node.status().initContainerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 0 });
  });
});

describe("a Pod that is changed", () => {
  it("has its container replaced when the image is another one", async () => {
    const node = await kubelet(pod());
    const before = node.status().containerStatuses?.[0]?.containerID;
    node.cluster.put(Pod, pod({ spec: { containers: [{ name: "web", image: "nginx:2" }] }, status: node.status() }));
    await node.quiet();
    expect(node.status().containerStatuses?.[0]).toMatchObject({
      image: "nginx:2",
      restartCount: 1,
      ready: true,
      lastState: { terminated: { exitCode: 137, containerID: before } },
    });
    expect(node.status().observedGeneration).toBe(2);
    expect(node.told()).toContain("Killing: Container web definition changed, will be restarted");
  });

  it("shows containers that were added to look at it", async () => {
    const node = await kubelet(pod());
    const ephemeralContainers = [{ name: "debug", image: "busybox" }];
    node.cluster.put(Pod, pod({ spec: { ephemeralContainers }, status: node.status() }));
    await node.quiet();
    expect(node.status().ephemeralContainerStatuses?.[0]).toMatchObject({ name: "debug", state: { running: {} } });
    expect(conditions(node.status()).Ready).toBe("True");
  });
});

describe("a Pod that is deleted", () => {
  it("takes a second to go, and ends well if it was kept running", async () => {
    const node = await kubelet(pod());
    node.cluster.writes.length = 0;
    node.cluster.put(Pod, pod({ status: node.status(), grace: 30 }));
    await node.quiet();
    expect(node.writes()).toEqual([]);
    expect(node.told()).toContain("Killing: Stopping container web");
    await node.pass(999);
    expect(node.pod()).toBeDefined();
    await node.pass(1);
    expect(node.pod()).toBeUndefined();
    expect(node.writes()).toEqual(["patch Pod/status", "delete Pod"]);
    const [last] = node.cluster.writes.filter(({ subresource }) => subresource === "status");
    expect(last?.body).toMatchObject({ status: { phase: "Succeeded" } });
  });

  it("goes at once when it is given no time", async () => {
    const node = await kubelet(pod());
    node.cluster.put(Pod, pod({ status: node.status(), grace: 0, finalizers: ["example.com/hold"] }));
    await node.quiet();
    expect(node.status().phase).toBe("Succeeded");
  });

  it("has failed if it was meant to end by itself", async () => {
    const spec = {
      restartPolicy: "Never" as const,
      containers: [{ name: "main", image: "b", command: ["sleep", "60"] }],
    };
    const draft = { owner: "Job", spec, finalizers: ["batch.kubernetes.io/job-tracking"] };
    const node = await kubelet(pod(draft));
    node.cluster.put(Pod, pod({ ...draft, status: node.status(), grace: 30 }));
    await node.quiet();
    await node.pass(1_000);
    expect(node.status()).toMatchObject({ phase: "Failed" });
    expect(node.status().containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(143);
  });

  it("is deleted once, although a finalizer holds it", async () => {
    const node = await kubelet(pod({ finalizers: ["example.com/hold"] }));
    node.cluster.put(Pod, pod({ status: node.status(), grace: 30, finalizers: ["example.com/hold"] }));
    await node.quiet();
    await node.pass(1_000);
    const deletions = node.writes().filter((write) => write === "delete Pod");
    expect(deletions).toHaveLength(1);
    node.cluster.put(Pod, pod({ status: node.status(), grace: 0, finalizers: ["example.com/hold"] }));
    await node.pass(60_000);
    expect(node.writes().filter((write) => write === "delete Pod")).toHaveLength(1);
  });

  it("gives its address back, and its successor of the same name is another Pod", async () => {
    const node = await kubelet(pod());
    const before = node.status().containerStatuses?.[0]?.containerID;
    node.cluster.drop(Pod, KEY);
    node.cluster.put(Pod, pod({ uid: "uid-2" }));
    await node.quiet();
    expect(node.status()).toMatchObject({ phase: "Running", podIP: "10.200.0.2" });
    expect(node.status().containerStatuses?.[0]?.containerID).not.toBe(before);
  });

  it("leaves when nothing of it ever ran, without saying that it failed", async () => {
    const spec = { containers: [{ name: "web", image: "nginx:404" }] };
    const node = await kubelet(pod({ spec, finalizers: ["example.com/hold"] }));
    node.cluster.put(Pod, pod({ spec, status: node.status(), grace: 30, finalizers: ["example.com/hold"] }));
    await node.quiet();
    await node.pass(1_000);
    expect(node.status().phase).toBe("Pending");
    expect(node.writes()).toContain("delete Pod");
  });
});
