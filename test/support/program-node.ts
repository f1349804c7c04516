/** A node that runs programs, for tests: the real kubelet and runners on a cluster in memory. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { TokenRequest } from "#api/authentication";
import {
  type Container,
  type ContainerStatus,
  type Event,
  Node,
  Pod,
  type PodSpec,
  type Secret,
  ServiceAccount,
} from "#api/core";
import type { Kind } from "#api/meta";
import { type Client, statusError } from "#kube";
import { ManualClock } from "#lib/clock";
import { silentLog as log } from "#lib/log";
import { eventTeller } from "../../src/features/node/events.ts";
import { podsController } from "../../src/features/node/kubelet/pods.controller.ts";
import { inThisProcess } from "../../src/features/node/programs/execution.ts";
import { MixedPods } from "../../src/features/node/programs/mixed-pods.ts";
import type { ProgramContext } from "../../src/features/node/programs/program.ts";
import { ProgramPods } from "../../src/features/node/programs/program-pods.ts";
import { SimulatedPods } from "../../src/features/node/simulation/simulated-pods.ts";
import { eventually } from "./eventually.ts";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";
import { startControllers } from "./run-until-quiet.ts";

export const IMAGE = "capstan:1";
const NODE = "n1";
export const KEY = "ns/p";

/** A program that does what the test says. */
interface Begun {
  readonly context: ProgramContext;
  end(code: number): void;
  fail(error: Error): void;
}

export const container = (more: Partial<Container> = {}): Container => ({ name: "main", image: IMAGE, ...more });

export function pod(spec: Partial<PodSpec> = {}, more: Partial<Pod> = {}) {
  return {
    metadata: { name: "p", namespace: "ns", uid: "uid-1" },
    spec: {
      nodeName: NODE,
      serviceAccountName: "robot",
      restartPolicy: "Always" as const,
      containers: [container()],
      ...spec,
    },
    ...more,
  };
}

export const mounted = (name: string, mountPath: string, more: object = {}) => ({
  volumeMounts: [{ name, mountPath, ...more }],
});

type Drafts = Parameters<typeof fakeCluster>;

/** A node on a cluster in memory, whose programs do what the test says. */
export async function startProgramNode(...drafts: readonly Drafts[number][]) {
  const clock = new ManualClock();
  const root = await mkdtemp(join(tmpdir(), "capstan-pods-"));
  let tokens = 0;
  const createSub = async (_: unknown, key: string, _sub: string, body: { spec: TokenRequest["spec"] }) => {
    if (!cluster.read(ServiceAccount, key)) throw notFound(`serviceaccounts "${key.split("/")[1]}" not found`);
    const expires = clock.now().getTime() + (body.spec.expirationSeconds ?? 0) * 1000;
    asked.push(body.spec);
    return { ...body, status: { token: `token-${++tokens}`, expirationTimestamp: new Date(expires).toISOString() } };
  };
  const asked: TokenRequest["spec"][] = [];
  const cluster: FakeCluster = fakeCluster(
    { clock, createSub: createSub as unknown as Client["createSub"] },
    [Node, { metadata: { name: NODE }, spec: { podCIDR: "10.200.0.0/18" } }],
    [ServiceAccount, { metadata: { name: "robot", namespace: "ns" } }],
    ...(drafts as []),
  );
  const watched: { what: string; signal: AbortSignal | undefined }[] = [];
  const { watch } = cluster.client;
  const refused = new Set<string>();
  Object.assign(cluster.client, {
    watch: (kind: { plural: string }, options: { fieldSelector?: string; signal?: AbortSignal }) => {
      watched.push({ what: `${kind.plural} ${options.fieldSelector ?? ""}`.trim(), signal: options.signal });
      if (refused.has(kind.plural)) throw forbidden(`${kind.plural} is forbidden`);
      return watch(kind as Kind<Secret>, options);
    },
  });
  const begun: Begun[] = [];
  const execute = inThisProcess(
    (context) =>
      new Promise((resolve, reject) => {
        begun.push({ context, end: resolve, fail: reject });
      }),
  );
  const begin = () => {
    const events = eventTeller({ component: "kubelet", host: NODE, client: cluster.client, clock, log });
    const programs = new ProgramPods({
      execute,
      root,
      server: { url: "https://[::1]:6443/clusters/hub/", ca: "OUR CA" },
      client: cluster.client,
      clock,
      log,
      tell: (about, telling) => events.tell(about, telling),
    });
    const runner = new MixedPods({ image: IMAGE, programs, simulation: new SimulatedPods({ clock }) });
    const controller = podsController({
      cluster,
      nodes: new Set([NODE]),
      hostIP: "127.0.0.1",
      runner,
      teller: () => events,
      clock,
    });
    return { programs, runner, running: startControllers([controller], { clock }) };
  };
  let current = begin();
  const stop = async () => {
    await current.running.stop();
    const closed = current.programs.close();
    await eventually(() => {
      clock.advance(1_000);
      return Promise.race([closed, Promise.reject(new Error("programs go on"))]);
    });
  };
  onTestFinished(async () => {
    await stop();
    await rm(root, { recursive: true, force: true });
  });
  /** Files are written in their own time, so that it takes more than one look. */
  const settled = <T>(look: () => T | Promise<T>) =>
    eventually(async () => {
      await current.running.quiet();
      return look();
    });
  const status = (name = "main"): ContainerStatus | undefined => {
    const { initContainerStatuses = [], containerStatuses = [] } = cluster.read(Pod, KEY)?.status ?? {};
    return [...initContainerStatuses, ...containerStatuses].find((each) => each.name === name);
  };
  return {
    cluster,
    clock,
    root,
    begun,
    asked,
    /** What was ever watched but Pods and Nodes, and what of it still is. */
    watched: () => watched.map(({ what }) => what),
    watching: () => watched.filter(({ signal }) => !signal?.aborted).map(({ what }) => what),
    refused,
    settled,
    status,
    get programs() {
      return current.programs;
    },
    get runner() {
      return current.runner;
    },
    phase: () => cluster.read(Pod, KEY)?.status?.phase,
    told: () =>
      cluster.writes
        .filter(({ verb, kind }) => verb === "create" && kind === "Event")
        .map(({ body }) => `${(body as Event).reason}: ${(body as Event).message}`),
    /** The n-th program, as soon as it has begun. */
    program: (n: number) =>
      settled((): Begun => {
        const found = begun[n];
        if (!found) throw new Error(`program ${n} has not begun`);
        return found;
      }),
    async pass(ms: number) {
      clock.advance(ms);
      await current.running.quiet();
    },
    async restart() {
      await stop();
      current = begin();
    },
  };
}

function failure(code: number, reason: string, message: string): Error {
  return statusError({ apiVersion: "v1", kind: "Status", metadata: {}, status: "Failure", code, reason, message });
}
const notFound = (message: string) => failure(404, "NotFound", message);
const forbidden = (message: string) => failure(403, "Forbidden", message);
