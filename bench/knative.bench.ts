/**
 * Our Knative operator side by side with upstream's: Serving 1.23 with Kourier, on the same kinds of servers, with the
 * same access plugin, each operator in a process of its own, one after the other. Prints tables; `docs/benchmarks.md`
 * keeps the last ones that were published.
 */
import { it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Namespace } from "#api/core";
import { KnativeServing } from "#api/knative";
import { type Client, isNotFound } from "#kube";
import { findCondition } from "#lib/conditions";
import { forEach } from "#runtime";
import { startControlPlane } from "../test/kube/control-plane.ts";
import { eventually } from "../test/support/eventually.ts";
import { sickServer } from "../test/support/sick-servers.ts";
import {
  embedded,
  heard,
  NAMESPACE,
  nameOf,
  quiet,
  refTo,
  type Server,
  Stage,
  type Way,
  type Who,
} from "./knative-stage.ts";

/** Phases and operators to leave out while working on others: `real`, `few`, `many`, `sick`; `ours`, `stock`. */
const LEFT_OUT = process.env.BENCH_WITHOUT?.split(",") ?? [];
const SUBJECTS = (["ours", "stock"] as const).filter((who) => !LEFT_OUT.includes(who));
const FEW = 10;
const MANY = 50;
/** Whoever is not done by then is not waited for any longer; the whole must not take more than ten minutes. */
const PATIENCE: Record<number, number> = { [FEW]: 120_000, [MANY]: 75_000 };
const SICK_PATIENCE = 45_000;
const HEALTHY = 17;

const SPEC = { version: "1.23.0", ingress: { kourier: { enabled: true }, istio: { enabled: false } } };

type Column = Map<string, { readonly value: number; readonly text: string }>;
const columns: Record<Who, Column> = { ours: new Map(), stock: new Map() };

it(
  "measures",
  async () => {
    const began = performance.now();
    try {
      if (!LEFT_OUT.includes("real")) await onRealServers();
      for (const count of [FEW, MANY]) {
        if (LEFT_OUT.includes(count === FEW ? "few" : "many")) continue;
        for (const who of SUBJECTS) await onEmbedded(who, count);
      }
      if (!LEFT_OUT.includes("sick")) for (const who of SUBJECTS) await besideSick(who);
    } finally {
      print();
      console.log(`\nall of it took ${seconds(performance.now() - began)}`);
    }
  },
  20 * 60_000,
);

function row(who: Who, what: string, value: number, text: string): void {
  console.log(`${who}: ${what}: ${text}`);
  columns[who].set(what, { value, text });
}

function print(): void {
  console.log("\n| | Capstan | stock operator | ratio |\n|---|---:|---:|---:|");
  for (const what of new Set([...columns.ours.keys(), ...columns.stock.keys()])) {
    const [ours, theirs] = [columns.ours.get(what), columns.stock.get(what)];
    const ratio = (theirs?.value ?? Number.NaN) / (ours?.value ?? Number.NaN);
    const shown = Number.isFinite(ratio) ? ratio.toFixed(1) : ours?.value === 0 && theirs ? "∞" : "";
    console.log(`| ${what} | ${ours?.text ?? ""} | ${theirs?.text ?? ""} | ${shown} |`);
  }
}

/** One spoke and the hub itself on kube-apiserver, and what a pass costs when there is nothing to do. */
async function onRealServers(): Promise<void> {
  const real = await startControlPlane("bench", { audit: true, webhooks: false, nodes: { count: 1 } });
  try {
    for (const who of SUBJECTS) {
      const { servers, close } = await embedded(["hub"]);
      const hub = serverAt(servers, 0);
      await onOne(who, "spoke", await Stage.open(hub, [{ server: real }]), real);
      await close();
      await cleanSlate(real.client);
    }
    for (const who of SUBJECTS) {
      await onOne(who, "hub", await Stage.open(real, []), real);
      await cleanSlate(real.client);
    }
  } finally {
    await real.close();
  }
}

async function onOne(who: Who, where: "spoke" | "hub", stage: Stage, target: Server): Promise<void> {
  const what = (text: string) => `${where === "spoke" ? "1 spoke" : "the hub itself"}, kube-apiserver: ${text}`;
  const before = heard([target]);
  let operator = await stage.start(who);
  const since = { count: 0 };
  const requests = async (text: string, act: () => Promise<unknown>) => {
    await act();
    const count = await quiet([target]);
    row(who, what(`requests ${text}`), count - since.count, String(count - since.count));
    since.count = count;
  };
  try {
    since.count = before;
    const times = await install(stage, 1, where === "spoke", PATIENCE[FEW] ?? 0);
    times.report(who, what);
    await requests("until it is Ready and quiet", async () => {});
    row(who, what("RSS"), operator.rssMb(), `${operator.rssMb().toFixed(0)} MB`);
    await requests("when its object is touched", () =>
      stage.hub.client.patch(KnativeServing, `${NAMESPACE}/${nameOf(0)}`, { metadata: { annotations: { a: "b" } } }),
    );
    if (where === "spoke") await requests("when its profile is touched", () => stage.beat(0, "1"));
    await requests("after a restart of the operator", async () => {
      await operator.stop();
      since.count = await quiet([target], 1_000); // ends of watches are written late, but counted once
      operator = await stage.start(who);
    });
    await stage.hub.client.delete(KnativeServing, `${NAMESPACE}/${nameOf(0)}`);
    await eventually(() => gone(() => stage.hub.client.get(KnativeServing, `${NAMESPACE}/${nameOf(0)}`)), 120_000);
  } finally {
    await operator.stop();
    await stage.close();
  }
}

/** Many spokes at once. */
async function onEmbedded(who: Who, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => nameOf(index));
  const { servers, cpuMs, close } = await embedded(["hub", ...names]);
  const spokes = servers.slice(1);
  const stage = await Stage.open(
    serverAt(servers, 0),
    spokes.map((server) => ({ server })),
  );
  const operator = await stage.start(who);
  try {
    const what = (text: string) => `${count} spokes, embedded: ${text}`;
    const before = cpuMs();
    const times = await install(stage, count, true, PATIENCE[count] ?? 0);
    times.report(who, what);
    row(who, what("RSS"), operator.rssMb(), `${operator.rssMb().toFixed(0)} MB`);
    row(who, what("CPU of the operator"), operator.cpuMs(), seconds(operator.cpuMs()));
    row(who, what("CPU of the API servers"), cpuMs() - before, seconds(cpuMs() - before));
    if (count > FEW || times.missing > 0) return;
    const each = (await quiet(spokes)) / count;
    row(who, what("requests to each until Ready and quiet"), each, each.toFixed(0));
  } finally {
    await operator.stop();
    await stage.close();
    await close();
  }
}

/** Two clusters that do not answer and a plugin that never ends, among twenty: what they cost the others. */
async function besideSick(who: Who): Promise<void> {
  const alone = who === "ours" ? await healthyAmong(who, []) : undefined;
  const hanging = await sickServer("hanging");
  const refusing = await sickServer("refusing");
  try {
    const sick: Way[] = [{ dead: hanging.connection.server }, { hangs: true }, { dead: refusing.connection.server }];
    const beside = await healthyAmong(who, sick);
    const what = `${HEALTHY} healthy spokes`;
    if (alone !== undefined) row(who, `${what} alone: Ready`, alone.ready, alone.text);
    row(who, `${what} beside two dead ones and a hanging plugin: Ready`, beside.ready, beside.text);
    if (alone)
      row(
        who,
        "what those cost the healthy",
        beside.ready / alone.ready,
        `${(beside.ready / alone.ready).toFixed(2)} times`,
      );
  } finally {
    await Promise.all([hanging.stop(), refusing.stop()]);
  }
}

/** The sick come first, so that whoever takes one after the other meets them. */
async function healthyAmong(who: Who, sick: readonly Way[]): Promise<{ ready: number; text: string }> {
  const { servers, close } = await embedded(["hub", ...Array.from({ length: HEALTHY }, (_, index) => `c${index}`)]);
  const ways = [...sick, ...servers.slice(1).map((server) => ({ server }))];
  const stage = await Stage.open(serverAt(servers, 0), ways);
  const operator = await stage.start(who);
  try {
    const times = await install(stage, ways.length, true, SICK_PATIENCE, sick.length);
    return { ready: times.ready, text: times.text };
  } finally {
    await operator.stop();
    await stage.close();
    await close();
  }
}

interface Times {
  readonly ready: number;
  readonly text: string;
  readonly missing: number;
  report(who: Who, what: (text: string) => string): void;
}

/** From the first object to when all but the first `apart` are applied, and Ready. */
async function install(stage: Stage, count: number, isRemote: boolean, patience: number, apart = 0): Promise<Times> {
  const { client } = stage.hub;
  const started = performance.now();
  await forEach(
    Array.from({ length: count }, (_, index) => index),
    (index) =>
      client.create(KnativeServing, {
        metadata: { name: nameOf(index), namespace: NAMESPACE },
        spec: { ...SPEC, ...(isRemote && { clusterProfileRef: refTo(index) }) },
      }),
  );
  const [applied, ready] = [new Map<string, number>(), new Map<string, number>()];
  const counted = new Set(Array.from({ length: count - apart }, (_, index) => nameOf(index + apart)));
  while (ready.size < counted.size && performance.now() - started < patience) {
    const now = performance.now() - started;
    for (const { metadata, status } of (await client.list(KnativeServing, { namespace: NAMESPACE })).items) {
      const { name } = metadata;
      if (!counted.has(name)) continue;
      if (status?.manifests?.length && !applied.has(name)) applied.set(name, now);
      if (findCondition(status?.conditions, "Ready")?.status === "True" && !ready.has(name)) ready.set(name, now);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const missing = counted.size - ready.size;
  const last = (times: Map<string, number>) =>
    times.size === counted.size ? Math.max(...times.values()) : Number.POSITIVE_INFINITY;
  const told = (times: Map<string, number>) =>
    times.size === counted.size ? seconds(last(times)) : `${times.size} of ${counted.size} after ${seconds(patience)}`;
  return {
    ready: last(ready),
    text: told(ready),
    missing,
    report(who, what) {
      row(who, what("applied"), last(applied), told(applied));
      row(who, what("Ready"), last(ready), told(ready));
    },
  };
}

/** Nothing of Knative, not even its definitions: the next one begins where this one did. */
async function cleanSlate(client: Client): Promise<void> {
  const labelSelector = `app.kubernetes.io/name=${NAMESPACE}`;
  const definitions = (await client.list(CustomResourceDefinition, { labelSelector })).items;
  await forEach(definitions, ({ metadata }) => client.delete(CustomResourceDefinition, metadata.name));
  await client.delete(Namespace, NAMESPACE);
  await eventually(() => gone(() => client.get(Namespace, NAMESPACE)), 120_000);
}

async function gone(look: () => Promise<unknown>): Promise<void> {
  const isThere = await look().then(
    () => true,
    (error: unknown) => {
      if (!isNotFound(error)) throw error;
      return false;
    },
  );
  if (isThere) throw new Error("it is still there");
}

function serverAt(servers: readonly Server[], index: number): Server {
  const server = servers[index];
  if (!server) throw new Error(`there is no server ${index}`);
  return server;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
