/**
 * Works on their way from a hub to spokes and back: our work agent and upstream's on the same servers, one after the
 * other. Prints tables; `docs/benchmarks.md` keeps the last ones that were published.
 *
 * BENCH_CLUSTERS (100) and BENCH_WORKS (100 for each) are for a fleet, our agents in one process and the stock ones in one
 * for each cluster; BENCH_TRICKLE (120) for works that come one by one, BENCH_RESTART (1,000) for those that an agent finds
 * when it starts again. BENCH_ONLY (`trickle`, `restart`, `fleet`, `kube`) leaves the others out, BENCH_SUBJECTS (`ours`,
 * `stock`) one of the two.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "vitest";
import { ConfigMap } from "#api/core";
import { ManifestWork } from "#api/work";
import { cpuSeconds, rssMb } from "./processes.ts";
import {
  embedded,
  inTurns,
  Listener,
  Observer,
  type Program,
  pause,
  prepareHub,
  prepareSpoke,
  real,
  type Server,
  type Servers,
  startAgent,
  startHost,
  toldOf,
  type Way,
  type Who,
  wayOf,
  workOf,
} from "./work-stage.ts";

const CLUSTERS = Number(process.env.BENCH_CLUSTERS ?? 100);
const WORKS = Number(process.env.BENCH_WORKS ?? 100);
const TRICKLE = Number(process.env.BENCH_TRICKLE ?? 120);
const RESTART = Number(process.env.BENCH_RESTART ?? 1_000);
const ONLY = process.env.BENCH_ONLY?.split(",") ?? ["trickle", "restart", "fleet", "kube"];

/** One work after the other, so that none waits for another. */
const TRICKLE_MS = 100;
/** How many works each hosted spoke has when memory is looked at. */
const FEW = 10;
/** How many hosted spokes are there before growth is measured. */
const FIRST = Math.min(10, Math.ceil(CLUSTERS / 10));
/** After so long a program has given back what it does not need. */
const SETTLE_MS = 25_000;
/** Nobody has asked for so long: it is quiet. */
const SILENCE_MS = 6_000;
/** Seconds of processor time in half a second that are not worth mentioning. */
const IDLE_CPU = 0.05;
/** An agent that is not quiet by then never is. */
const LONGEST_NOISE_MS = 45_000;
/** Works that are not done by then are not waited for any longer. */
const PATIENCE_MS = 240_000;
/** Where the works of a cluster put their objects. */
const PLACE = "bench-objects";
const SUBJECTS = (process.env.BENCH_SUBJECTS?.split(",") ?? ["ours", "stock"]) as readonly Who[];
const PORTS = { hub: 29_000, spokes: 29_100 };

/** What was started last is stopped first, also after a failure. */
const closing: (() => Promise<unknown>)[] = [];
/** By row: ours, the stock agent's, and what that comes to. */
const table = new Map<string, { ours?: Cell; stock?: Cell }>();

interface Cell {
  readonly value: number;
  readonly text: string;
}

it("measures", async () => {
  const began = performance.now();
  const dir = await mkdtemp(join(tmpdir(), "capstan-bench-work-"));
  try {
    if (ONLY.some((part) => part !== "kube")) await onEmbedded(dir);
    if (ONLY.includes("kube")) await onKube(dir);
  } finally {
    for (const close of closing.reverse()) await close().catch((error: unknown) => console.log(error));
    await rm(dir, { recursive: true, force: true });
    print();
    console.log(`\nall of it took ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
}, 3_600_000);

async function onEmbedded(dir: string): Promise<void> {
  const alone = SUBJECTS.map((who) => `alone-${who}`);
  const fleetOf = (who: Who) => Array.from({ length: CLUSTERS }, (_, index) => `fleet-${who}-${index}`);
  const names = [...alone, ...(ONLY.includes("fleet") ? SUBJECTS.flatMap(fleetOf) : [])];
  const hubs = await opened(embedded(["hub"], PORTS.hub));
  const spokes = await opened(embedded(names, PORTS.spokes));
  const hub = hubs.all[0];
  if (!hub) throw new Error("there is no hub");
  await prepareHub(hub, names);
  await inTurns(spokes.all, (spoke) => prepareSpoke(spoke, PLACE), 8);
  const places = new Map(spokes.all.map((spoke) => [spoke.name, spoke]));
  const ways = new Map<string, Way>();
  await inTurns(names, async (name) => ways.set(name, await wayOf(name, hub, found(places, name), dir)), 8);

  for (const who of SUBJECTS) {
    const name = `alone-${who}`;
    const one = { who, hub, spoke: found(places, name), way: found(ways, name), place: PLACE, dir };
    if (ONLY.includes("trickle")) await trickle("embedded", one);
    if (ONLY.includes("restart")) await restart("embedded", one);
  }
  if (!ONLY.includes("fleet")) return;
  const parts = { hub: hubs.pids, spokes: spokes.pids };
  for (const who of SUBJECTS) {
    const clusters = fleetOf(who);
    const some = {
      ways: clusters.map((name) => found(ways, name)),
      spokes: clusters.map((name) => found(places, name)),
    };
    await fleet(who, { hub, parts, dir, ...some });
  }
}

async function onKube(dir: string): Promise<void> {
  const { all } = await opened(real());
  const server = all[0];
  if (!server) throw new Error("there is no server");
  const names = SUBJECTS.map((who) => `kube-${who}`);
  await prepareHub(server, names);
  for (const who of SUBJECTS) {
    const name = `kube-${who}`;
    const place = `objects-${who}`;
    await prepareSpoke(server, place);
    const way = await wayOf(name, server, server, dir);
    const one = { who, hub: server, spoke: server, way, place, dir };
    await trickle("kube-apiserver", one);
    await restart("kube-apiserver", one);
  }
}

interface One {
  readonly who: Who;
  readonly hub: Server;
  readonly spoke: Server;
  readonly way: Way;
  readonly place: string;
  readonly dir: string;
}

/** Works that come one by one, and are edited one by one. */
async function trickle(where: string, { who, hub, spoke, way, place, dir }: One): Promise<void> {
  const { clusterName } = way;
  const agent = startAgent(who, way, { dir });
  const observer = await Observer.open(hub, spoke, clusterName, place);
  try {
    await write(hub, clusterName, ["first"], place);
    await settled(hub, clusterName, ["first"]);
    await pause(3_000);
    const names = Array.from({ length: TRICKLE }, (_, index) => `trickle-${index}`);
    for (const [step, what] of (["new work", "edited work"] as const).entries()) {
      const value = `step-${step}`;
      const began = new Map<string, number>();
      for (const name of names) {
        began.set(name, performance.now());
        const wish = workOf(clusterName, name, place, value);
        if (step === 0) await hub.client.create(ManifestWork, wish);
        else await hub.client.patch(ManifestWork, `${clusterName}/${name}`, { spec: wish.spec });
        await pause(TRICKLE_MS);
      }
      const generation = step + 1;
      const seen = (name: string) => ({
        spoke: latest([
          observer.at(`ConfigMap ${name}-settings ${value}`),
          observer.at(`Secret ${name}-secret`),
          observer.at(`ServiceAccount ${name}-account`),
        ]),
        applied: observer.at(`applied ${name} ${generation}`),
        available: observer.at(`available ${name} ${generation}`),
      });
      await within(30_000, () => names.every((name) => seen(name).available !== undefined));
      for (const [span, of] of [
        ["all of it on the spoke", "spoke"],
        ["Applied on the hub", "applied"],
        ["Available on the hub", "available"],
      ] as const) {
        const times = names.map((name) => (seen(name)[of] ?? Number.POSITIVE_INFINITY) - (began.get(name) ?? 0));
        for (const [word, share] of [
          ["p50", 0.5],
          ["p99", 0.99],
        ] as const) {
          row(`${where}, ${what}: ${span}, ${word}`, who, quantile(times, share), ms);
        }
      }
    }
  } finally {
    observer.close();
    await agent.stop();
  }
}

/** An agent that starts again and finds everything done. */
async function restart(where: string, { who, hub, spoke, way, place, dir }: One): Promise<void> {
  const { clusterName } = way;
  const names = Array.from({ length: RESTART }, (_, index) => `restart-${index}`);
  const first = startAgent(who, way, { dir, unlimited: true });
  try {
    await write(hub, clusterName, names, place);
    const missing = await settled(hub, clusterName, names);
    if (missing > 0) console.log(`${who}: ${missing} of ${RESTART} works were not ready before the restart`);
    await pause(5_000);
  } finally {
    await first.stop();
  }
  await pause(1_000);
  const servers = [...new Set([hub, spoke])];
  const listeners = servers.map((server) => new Listener([server]));
  const began = performance.now();
  const again = startAgent(who, way, { dir });
  try {
    const last = () => Math.max(began, ...listeners.map((listener) => listener.last));
    let [spent, busy] = [0, began];
    let isQuiet = false;
    await within(
      LONGEST_NOISE_MS,
      () => {
        for (const listener of listeners) listener.look();
        const now = performance.now();
        // Whoever computes may be about to ask.
        if (cpuSeconds(again.pids) - spent > IDLE_CPU) [spent, busy] = [cpuSeconds(again.pids), now];
        const isHeard = listeners.every(({ total }) => total > 0);
        isQuiet = isHeard && now - Math.max(last(), busy) > SILENCE_MS;
        return isQuiet;
      },
      500,
    );
    const label = (index: number) => (servers.length === 1 ? "hub and spoke" : (["hub", "spoke"][index] ?? ""));
    for (const [index, listener] of listeners.entries()) {
      row(
        `${where}, restart with ${RESTART} works: requests to ${label(index)}`,
        who,
        listener.total,
        () => `${listener.total} (${listener.text})`,
      );
    }
    const writes = listeners.reduce((sum, listener) => sum + listener.writes, 0);
    row(`${where}, restart with ${RESTART} works: writes`, who, writes, String);
    row(
      `${where}, restart with ${RESTART} works: quiet after`,
      who,
      isQuiet ? last() - began : Number.POSITIVE_INFINITY,
      (value) => (isQuiet ? seconds(value) : `not in ${LONGEST_NOISE_MS / 1000} s`),
    );
    row(`${where}, restart with ${RESTART} works: CPU of the agent`, who, cpuSeconds(again.pids), seconds2);
    if (where !== "embedded") return; // one measurement of its memory is enough
    await pause(SETTLE_MS);
    row(`RSS of one agent with ${RESTART} works`, who, rssMb(again.pids), megabytes);
  } finally {
    await again.stop();
  }
  const idle = startAgent(who, { ...way, clusterName: "nobody" }, { dir });
  try {
    await pause(SETTLE_MS);
    row("RSS of one agent without works", who, rssMb(idle.pids), megabytes);
  } finally {
    await idle.stop();
  }
}

interface Parts {
  readonly hub: readonly number[];
  readonly spokes: readonly number[];
}

interface Fleet {
  readonly hub: Server;
  readonly ways: readonly Way[];
  readonly spokes: readonly Server[];
  readonly parts: Parts;
  readonly dir: string;
}

/** Clusters that have a few works each, and get many at once: ours hosted in one process, the stock agents one by one. */
async function fleet(who: Who, { hub, ways, spokes, parts, dir }: Fleet): Promise<void> {
  const few = Array.from({ length: FEW }, (_, index) => `few-${index}`);
  await inTurns(ways, ({ clusterName }) => write(hub, clusterName, few, PLACE, 1), 8);
  const agents: Program[] = [];
  try {
    if (who === "ours") agents.push(await hosted(hub, ways, few));
    else for (const way of ways) agents.push(startAgent(who, way, { dir }));
    for (const { clusterName } of ways) await settled(hub, clusterName, few);
    await pause(2_000);

    const pids = agents.flatMap((agent) => agent.pids);
    const what = `${ways.length} × ${WORKS} works from nothing`;
    await flood(what, who, hub, ways, { ...parts, agents: pids });
    await pause(SETTLE_MS);
    row(`${what}: RSS of the agents together`, who, rssMb(pids), megabytes);
    const counts = await Promise.all(
      spokes.map(async ({ client }) => (await client.list(ConfigMap, { namespace: PLACE, metadataOnly: true })).items),
    );
    const placed = counts.flat().filter(({ metadata }) => metadata.name.endsWith("-settings")).length;
    console.log(`${placed} of ${ways.length * (FEW + WORKS)} ConfigMaps are on the spokes`);
  } finally {
    await Promise.all(agents.map((agent) => agent.stop()));
  }
}

/** One process for all: what one more cluster costs it. */
async function hosted(hub: Server, ways: readonly Way[], few: readonly string[]): Promise<Program> {
  const host = await startHost();
  const grow = async (some: readonly Way[]) => {
    for (const way of some) host.add(way);
    for (const { clusterName } of some) await settled(hub, clusterName, few);
    await pause(SETTLE_MS);
    return rssMb(host.pids);
  };
  const empty = rssMb(host.pids);
  const before = await grow(ways.slice(0, FIRST));
  const after = await grow(ways.slice(FIRST));
  row("hosted: RSS without spokes", "ours", empty, megabytes);
  row(`hosted: RSS with ${FIRST} spokes of ${FEW} works`, "ours", before, megabytes);
  row(`hosted: RSS with ${ways.length} spokes of ${FEW} works`, "ours", after, megabytes);
  const each = (after - before) / Math.max(1, ways.length - FIRST);
  row("hosted: RSS of a further spoke", "ours", each, (value) => `${value.toFixed(2)} MB`);
  return host;
}

/** Works for all clusters as fast as the hub takes them, until the hub has heard of each that it is applied. */
async function flood(
  what: string,
  who: Who,
  hub: Server,
  ways: readonly Way[],
  parts: Parts & { readonly agents: readonly number[] },
): Promise<void> {
  const names = Array.from({ length: WORKS }, (_, index) => `flood-${index}`);
  const wishes = names.flatMap((name) => ways.map(({ clusterName }) => workOf(clusterName, name, PLACE)));
  const look = () => [parts.hub, parts.spokes, parts.agents].map(cpuSeconds);
  const before = look();
  const began = performance.now();
  await inTurns(wishes, (wish) => hub.client.create(ManifestWork, wish), 8);
  const written = (performance.now() - began) / 1000;
  let missing = 0;
  for (const { clusterName } of ways) missing += await settled(hub, clusterName, names, "applied");
  const took = (performance.now() - began) / 1000;
  const after = look();
  const rate = (wishes.length - missing) / took;
  const never = missing > 0 ? `, ${missing} never` : "";
  row(`${what}: works a second`, who, rate, () => `${rate.toFixed(0)}/s (${took.toFixed(1)} s${never})`, true);
  row(`${what}: the hub had them all after`, who, written, () => `${written.toFixed(1)} s`);
  const spent = after.map((value, index) => ((value - (before[index] ?? 0)) / wishes.length) * 1000);
  const text = spent.map((value) => value.toFixed(2)).join(" + ");
  const sum = spent.reduce((total, value) => total + value, 0);
  row(`${what}: CPU of a work, hub + spokes + agents`, who, sum, () => `${text} ms`);
}

async function write(hub: Server, clusterName: string, names: readonly string[], place: string, atOnce = 8) {
  await inTurns(names, (name) => hub.client.create(ManifestWork, workOf(clusterName, name, place)), atOnce);
}

/** How many of these works are still not ready when waiting has taken too long; usually none. */
async function settled(
  { client }: Server,
  namespace: string,
  names: readonly string[],
  state: "applied" | "available" = "available",
): Promise<number> {
  let missing = names.length;
  await within(
    PATIENCE_MS,
    async () => {
      const { items } = await client.list(ManifestWork, { namespace });
      const done = new Set(items.filter((work) => toldOf(work)[state]).map(({ metadata }) => metadata.name));
      missing = names.filter((name) => !done.has(name)).length;
      return missing === 0;
    },
    250,
  );
  return missing;
}

async function within(patience: number, isSo: () => boolean | Promise<boolean>, every = 100): Promise<void> {
  const deadline = performance.now() + patience;
  while (!(await isSo()) && performance.now() < deadline) await pause(every);
}

async function opened(starting: Promise<Servers>): Promise<Servers> {
  const servers = await starting;
  closing.push(() => servers.close());
  return servers;
}

function found<T>(map: ReadonlyMap<string, T>, name: string): T {
  const value = map.get(name);
  if (value === undefined) throw new Error(`there is no ${name}`);
  return value;
}

function latest(times: readonly (number | undefined)[]): number | undefined {
  return times.includes(undefined) ? undefined : Math.max(...times.map(Number));
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** `isRate` for what is better when it is more. */
function row(what: string, who: Who, value: number, text: (value: number) => string, isRate = false): void {
  const cell = { value: isRate ? 1 / value : value, text: Number.isFinite(value) || isRate ? text(value) : "never" };
  console.log(`${who}: ${what}: ${cell.text}`);
  table.set(what, { ...table.get(what), [who]: cell });
}

/** The last column is how many times less ours takes, or does. */
function print(): void {
  console.log("\n|  | Capstan | stock OCM | stock / Capstan |\n|---|---:|---:|---:|");
  for (const [what, { ours, stock }] of table) {
    const ratio = ours && stock ? stock.value / ours.value : Number.NaN;
    const last = Number.isFinite(ratio) ? ratio.toFixed(1) : "";
    console.log(`| ${what} | ${ours?.text ?? ""} | ${stock?.text ?? ""} | ${last} |`);
  }
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

function seconds(value: number): string {
  return `${(value / 1000).toFixed(1)} s`;
}

function seconds2(value: number): string {
  return `${value.toFixed(2)} s`;
}

function megabytes(value: number): string {
  return `${value.toFixed(0)} MB`;
}
