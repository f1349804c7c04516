/**
 * A thousand clusters join one hub, twenty a second, and stay: our hub on an embedded API server, our hub's controllers
 * on kube-apiserver, and upstream's registration controller on kube-apiserver, one after the other, each with the same
 * agents. Prints tables; `docs/benchmarks.md` keeps the last ones that were published.
 *
 * Then ten thousand clusters are there on our hub on an embedded API server, and beat.
 *
 * BENCH_CLUSTERS (1,000; 0 for none), BENCH_RATE (20 a second), BENCH_PROCESSES (one for 500 agents), BENCH_REST (150
 * seconds that are looked at when all have joined), BENCH_WITHOUT (`embedded`, `ours`, `stock`), BENCH_LEASES (10,000; 0
 * for none) make it smaller or larger.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "vitest";
import {
  type Agents,
  embeddedServer,
  Observer,
  prepareFleet,
  realServer,
  type Server,
  startAgents,
  startBeating,
  startHub,
  unknownOn,
  type Who,
} from "./fleet-stage.ts";
import { cpuSeconds, rssMb } from "./processes.ts";

const CLUSTERS = Number(process.env.BENCH_CLUSTERS ?? 1_000);
const RATE = Number(process.env.BENCH_RATE ?? 20);
const PROCESSES = Number(process.env.BENCH_PROCESSES ?? Math.min(16, Math.ceil(CLUSTERS / 500)));
/** Leases are renewed every 60 to 75 seconds: two beats of every cluster. */
const REST_SECONDS = Number(process.env.BENCH_REST ?? 150);
const LEFT_OUT = process.env.BENCH_WITHOUT?.split(",") ?? [];
const LEASES = Number(process.env.BENCH_LEASES ?? 10_000);
/** How long what nobody has joined yet is looked at, to know what the hub costs by itself. */
const EMPTY_SECONDS = 20;
/** What joining leaves to do is done by then, and forgotten: the server remembers changes for 75 s. */
const SETTLE_MS = 100_000;
/** All programs are new, ours and the agents', and compile what they do often; after so many clusters that is done. */
const WARM = 200;
/** Whoever has not joined so long after the last one began is not waited for any longer. */
const PATIENCE_MS = 180_000;

interface Subject {
  readonly name: string;
  readonly word: string;
  readonly who: Who;
  serve(): Promise<Server>;
}

const SUBJECTS: readonly Subject[] = [
  { name: "Capstan, embedded", word: "embedded", who: "ours", serve: embeddedServer },
  { name: "Capstan, kube-apiserver", word: "ours", who: "ours", serve: realServer },
  { name: "stock OCM, kube-apiserver", word: "stock", who: "stock", serve: realServer },
];

/** By row, by subject. */
const table = new Map<string, Map<string, { readonly value: number; readonly text: string }>>();

it.skipIf(CLUSTERS === 0)(
  "measures",
  async () => {
    console.log(`${CLUSTERS} clusters, ${RATE} a second, agents in ${PROCESSES} processes`);
    const began = performance.now();
    try {
      for (const subject of SUBJECTS) if (!LEFT_OUT.includes(subject.word)) await measure(subject);
    } finally {
      print();
      console.log(`\nall of it took ${((performance.now() - began) / 1000).toFixed(0)} s`);
    }
  },
  4 * 3_600_000,
);

it.skipIf(LEASES === 0)(
  "bears leases",
  async () => {
    // What was started last is stopped first, also after a failure.
    const closing: (() => Promise<unknown> | undefined)[] = [];
    try {
      const dir = await mkdtemp(join(tmpdir(), "capstan-bench-leases-"));
      closing.push(() => rm(dir, { recursive: true, force: true }));
      const server = await embeddedServer();
      closing.push(() => server.close());
      await prepareFleet(server);
      const hub = await startHub("ours", server, dir);
      closing.push(() => hub.stop());
      const parts = { server: server.pids, hub: hub.pids };
      const beating = await startBeating(server, dir, LEASES);
      closing.push(() => beating.stop());
      const { joined } = await beating.next();
      console.log(
        `${LEASES} clusters: made in ${joined?.made.toFixed(0)} s, all available after ${joined?.all.toFixed(0)} s`,
      );
      console.log(
        `CPU of it, server and controllers: ${cpuSeconds(parts.server).toFixed(0)} + ${cpuSeconds(parts.hub).toFixed(0)} s`,
      );
      await pause(SETTLE_MS);
      const before = { server: cpuSeconds(parts.server), hub: cpuSeconds(parts.hub) };
      await beating.next(); // from here on whole spans
      const spans = [];
      for (let left = REST_SECONDS / 10; left > 0; left--) spans.push(await beating.next());
      const seconds = spans.length * 10;
      const spent = { server: cpuSeconds(parts.server) - before.server, hub: cpuSeconds(parts.hub) - before.hub };
      const hours = (LEASES * seconds) / 3600;
      const beats = spans.reduce((sum, each) => sum + (each.beats ?? 0), 0);
      const mean = spans.reduce((sum, each) => sum + (each.mean ?? 0) * (each.beats ?? 0), 0) / beats;
      const lost = await unknownOn(server);
      console.log(
        `at rest for ${seconds} s: ${(beats / seconds).toFixed(0)} beats a second, ${mean.toFixed(1)} ms each, the longest ${Math.max(...spans.map(({ longest = 0 }) => longest))} ms, ${spans.reduce((sum, { late = 0 }) => sum + late, 0)} failed; clusters called unknown: ${lost}`,
      );
      console.log(
        `CPU at rest, server and controllers: ${((spent.server / seconds) * 100).toFixed(1)} + ${((spent.hub / seconds) * 100).toFixed(1)} % of a core; of a cluster-hour ${cpu((spent.server + spent.hub) / hours)}`,
      );
      console.log(`RSS at rest, server and controllers: ${memory(parts)}`);
    } finally {
      for (const close of closing.reverse())
        await Promise.resolve(close()).catch((error: unknown) => console.log(error));
    }
  },
  3_600_000,
);

async function measure(subject: Subject): Promise<void> {
  const row = (what: string, value: number, text: string) => {
    console.log(`${subject.name}: ${what}: ${text}`);
    if (!table.has(what)) table.set(what, new Map());
    table.get(what)?.set(subject.name, { value, text });
  };
  // What was started last is stopped first, also after a failure.
  const closing: (() => Promise<unknown> | undefined)[] = [];
  try {
    const dir = await mkdtemp(join(tmpdir(), "capstan-bench-fleet-"));
    closing.push(() => rm(dir, { recursive: true, force: true }));
    const server = await subject.serve();
    closing.push(() => server.close());
    await prepareFleet(server);
    const hub = await startHub(subject.who, server, dir);
    closing.push(() => hub.stop());
    const observer = await Observer.open(server);
    closing.push(async () => observer.close());
    const agents = await startAgents(server, dir, PROCESSES);
    closing.push(() => agents.stop());
    const parts = { server: server.pids, hub: hub.pids };

    await pause(5_000);
    const empty = await rest(parts, observer, EMPTY_SECONDS);
    row("CPU without clusters, server and controllers", empty.server + empty.hub, shares(empty, EMPTY_SECONDS));
    row("RSS without clusters, server and controllers", rssMb([...server.pids, ...hub.pids]), memory(parts));

    await joinAll(agents, observer, parts, row);
    await pause(SETTLE_MS);

    const idle = await rest(parts, observer, REST_SECONDS);
    const hours = (observer.available.size * REST_SECONDS) / 3600;
    row("CPU at rest, server and controllers", idle.server + idle.hub, shares(idle, REST_SECONDS));
    const perHour = (seconds: number) => seconds / hours;
    row("CPU of a cluster-hour, controllers", perHour(idle.hub), cpu(perHour(idle.hub)));
    const whole = perHour(idle.hub + idle.server);
    row("CPU of a cluster-hour, with the server", whole, cpu(whole));
    const own = whole - perHour(((empty.hub + empty.server) * REST_SECONDS) / EMPTY_SECONDS);
    row("CPU of a cluster-hour, without what an empty hub uses", own, cpu(own));
    row("RSS at rest, server and controllers", rssMb([...server.pids, ...hub.pids]), memory(parts));
    const writes = idle.writes - (empty.writes * REST_SECONDS) / EMPTY_SECONDS;
    row("writes for a heartbeat", writes / idle.beats, (writes / idle.beats).toFixed(2));
    row("heartbeats seen", idle.beats, String(idle.beats));
  } finally {
    for (const close of closing.reverse()) await Promise.resolve(close()).catch((error: unknown) => console.log(error));
  }
}

type Report = (what: string, value: number, text: string) => void;

interface Parts {
  readonly server: readonly number[];
  readonly hub: readonly number[];
}

/** Lets clusters join at their pace, and tells how long each took from its request to Available. */
async function joinAll(agents: Agents, observer: Observer, parts: Parts, row: Report): Promise<void> {
  const started = performance.now();
  const before = { hub: cpuSeconds(parts.hub), server: cpuSeconds(parts.server), agents: cpuSeconds(agents.pids) };
  for (let index = 0; index < CLUSTERS; index++) {
    const wait = started + (index / RATE) * 1000 - performance.now();
    if (wait > 1) await pause(wait);
    agents.start(nameOf(index));
  }
  const last = performance.now();
  while (observer.available.size < CLUSTERS && performance.now() - last < PATIENCE_MS) await pause(100);
  const missing = CLUSTERS - observer.available.size;
  const never = missing > 0 ? `, ${missing} never` : "";
  const latencies = Array.from({ length: CLUSTERS }, (_, index) => {
    const [asked, available] = [observer.asked.get(nameOf(index)), observer.available.get(nameOf(index))];
    return asked === undefined || available === undefined ? Number.POSITIVE_INFINITY : available - asked;
  });
  for (const [what, share, from] of [
    ["median", 0.5, 0],
    ["p99", 0.99, 0],
    [`p99 after the first ${WARM}`, 0.99, WARM],
    ["longest", 1, 0],
  ] as const) {
    const sorted = latencies.slice(from).sort((a, b) => a - b);
    const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
    row(`request to Available, ${what}`, value, Number.isFinite(value) ? `${(value / 1000).toFixed(2)} s` : "never");
  }
  const took = (Math.max(...observer.available.values()) - started) / 1000;
  row("all have joined after", took, `${took.toFixed(1)} s${never}`);
  const spent = { hub: cpuSeconds(parts.hub) - before.hub, server: cpuSeconds(parts.server) - before.server };
  const ofAgents = cpuSeconds(agents.pids) - before.agents;
  const text = `${spent.server.toFixed(1)} + ${spent.hub.toFixed(1)} s`;
  row("CPU while they joined, server and controllers", spent.server + spent.hub, text);
  row("CPU of the agents meanwhile", ofAgents, `${ofAgents.toFixed(1)} s`);
}

interface Rest {
  /** Seconds of CPU. */
  readonly server: number;
  readonly hub: number;
  readonly writes: number;
  readonly beats: number;
}

/** What happens in so many seconds in which nobody wants anything. */
async function rest({ server, hub }: Parts, observer: Observer, seconds: number): Promise<Rest> {
  const look = async () => ({
    server: cpuSeconds(server),
    hub: cpuSeconds(hub),
    writes: await observer.writes(),
    beats: observer.beats,
  });
  const before = await look();
  await pause(seconds * 1000);
  const after = await look();
  return {
    server: after.server - before.server,
    hub: after.hub - before.hub,
    writes: after.writes - before.writes,
    beats: after.beats - before.beats,
  };
}

/** With how many times more or less upstream has than each of ours. */
function print(): void {
  const shown = SUBJECTS.filter(({ word }) => !LEFT_OUT.includes(word));
  const ours = shown.filter(({ who }) => who === "ours");
  const stock = shown.find(({ who }) => who === "stock");
  const ratios = stock ? ours : [];
  const heads = [...shown.map(({ name }) => name), ...ratios.map(({ word }) => `stock / ${word}`)];
  console.log(`\n| ${CLUSTERS} clusters | ${heads.join(" | ")} |\n|---|${heads.map(() => "---:|").join("")}`);
  for (const [what, cells] of table) {
    const theirs = cells.get(stock?.name ?? "")?.value ?? Number.NaN;
    const quotients = ratios.map(({ name }) => theirs / (cells.get(name)?.value ?? Number.NaN));
    const numbers = quotients.map((ratio) => (Number.isFinite(ratio) ? ratio.toFixed(1) : ""));
    console.log(`| ${what} | ${[...shown.map(({ name }) => cells.get(name)?.text ?? ""), ...numbers].join(" | ")} |`);
  }
}

function nameOf(index: number): string {
  return `fleet-${String(index).padStart(5, "0")}`;
}

function shares({ server, hub }: Rest, seconds: number): string {
  return `${((server / seconds) * 100).toFixed(1)} + ${((hub / seconds) * 100).toFixed(1)} % of a core`;
}

function memory({ server, hub }: Parts): string {
  return `${rssMb(server).toFixed(0)} + ${rssMb(hub).toFixed(0)} MB`;
}

function cpu(seconds: number): string {
  return `${seconds.toFixed(3)} s`;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
