/**
 * The runtime side by side with multicluster-runtime: the same controllers over the same clusters, each in a process
 * of its own, one after the other; the clusters and the load are processes beside. Prints a table;
 * `docs/benchmarks.md` keeps the last one that was published. BENCH_CLUSTERS says how many there are, if not 1,000.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { it } from "vitest";
import { Namespace, Secret } from "#api/core";
import { type Connection, connectionOf, createClient, kubeconfigFor, kubeconfigText, loadKubeconfig } from "#kube";
import { forEach, KUBECONFIG_SECRET_LABELS } from "#runtime";
import { SICKNESSES, sickServer } from "../test/support/sick-servers.ts";
import { ended } from "./processes.ts";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

const CLUSTERS = Number(process.env.BENCH_CLUSTERS ?? 1_000);
const KINDS = 5;
/** So many clusters are changed in the phases that measure how late a reconcile is. */
const HEALTHY = Math.min(50, CLUSTERS / 4);
/** They fall silent while they are connected: their process is stopped. */
const FROZEN = 10;
/** So many objects take turns on a cluster: no change is hidden by a later one for ten seconds. */
const OBJECTS = 20;
const HOT_OBJECTS = 500;
const FROZEN_OBJECTS = 20;
/** So many changes on one cluster, which so many members of a fleet stand for. */
const FLOOD = 1_000;
const CROWD = 100;
const SECONDS = 8;
const RATE = 2;
const HOT_RATE = 200;
/** What a reconcile of a ConfigMap takes where that matters: a request or two to somewhere. */
const WORK_MS = 40;
const WORKERS = 8;
/** After so many milliseconds the keys of the clusters that fall silent ask them again. */
const ASK_EVERY = 2_000;
const PATIENCE = 200_000;
const SICK_PATIENCE = 30_000;

const SUBJECTS: Record<string, readonly string[]> = {
  Capstan: [process.execPath, path("./runtime-subject.mjs")],
  "multicluster-runtime": [path("../.kube/strangers/multicluster-runtime")],
};

/** Namespaces of the hub, each with the Secrets of one fleet. */
const FLEET = { none: "none", all: "all", crowd: "crowd", freezing: "freezing", sick: "sick" } as const;

const healthy = names("c", HEALTHY);
const frozen = names("f", FROZEN);
const hot = `c${String(CLUSTERS - 1).padStart(4, "0")}`;

type Row = [what: string, value: number, text: string];

it(
  "measures",
  async () => {
    const stage = await prepare();
    const columns: Row[][] = [];
    try {
      for (const [name, command] of Object.entries(SUBJECTS)) columns.push(await measure(name, command, stage));
    } finally {
      await stage.close();
    }
    print(columns);
  },
  30 * 60_000,
);

function print([ours = [], theirs = []]: Row[][]): void {
  console.log(`\n| ${CLUSTERS} clusters | ${Object.keys(SUBJECTS).join(" | ")} | ratio |\n|---|---:|---:|---:|`);
  for (const [index, [what, value, text]] of ours.entries()) {
    const [, other = Number.NaN, otherText = ""] = theirs[index] ?? [];
    const ratio = other / value;
    console.log(`| ${what} | ${text} | ${otherText} | ${Number.isFinite(ratio) ? ratio.toFixed(1) : ""} |`);
  }
}

async function measure(name: string, command: readonly string[], stage: Stage): Promise<Row[]> {
  const rows: Row[] = [];
  const row = (what: string, value: number, text: string) => {
    console.log(`${name}: ${what}: ${text}`);
    rows.push([what, value, text]);
  };

  const empty = await Subject.start(command, stage, FLEET.none);
  await pause(3_000);
  const base = empty.memoryMb();
  await empty.end();
  row("RSS without clusters", base, `${base.toFixed(0)} MB`);

  const subject = await Subject.start(command, stage, FLEET.all);
  const synced = await subject.filled(CLUSTERS * KINDS, PATIENCE);
  row(`${CLUSTERS * KINDS} caches filled`, synced.ms, `${(synced.ms / 1000).toFixed(1)} s${synced.missing}`);
  row("CPU for that", subject.cpuMs(), `${(subject.cpuMs() / 1000).toFixed(1)} s`);
  await pause(5_000);
  const each = (subject.memoryMb() - base) / CLUSTERS;
  row("RSS of a cluster", each, `${(each * 1024).toFixed(0)} KB`);

  const idle = subject.cpuMs();
  await pause(5_000);
  const atRest = (subject.cpuMs() - idle) / 5_000;
  row("CPU at rest", atRest, `${(atRest * 100).toFixed(1)} % of a core`);

  await subject.ask(`work ${WORK_MS}`);
  const calm = await best(() => lateness(subject, stage));
  row("event to reconcile, median", calm.median, ms(calm.median));
  row("change to reconcile, p99", calm.own, calm.text);
  const besideHot = await best(async () => {
    const order = { order: "steady", clusters: [hot], objects: HOT_OBJECTS, rate: HOT_RATE, seconds: SECONDS };
    const [measured] = await Promise.all([lateness(subject, stage), stage.load(order)]);
    return measured;
  });
  row("p99 beside a hot cluster", besideHot.own, besideHot.text);
  row("what it costs the others", besideHot.own / calm.own, times(besideHot.own / calm.own));
  await subject.end();

  await flood(command, stage, row);
  await freezing(command, stage, row);
  await sick(command, stage, row);
  return rows;
}

type Report = (what: string, value: number, text: string) => void;

/**
 * More changes than a runtime can take: one cluster stands for many, so that each of its changes is an event on all
 * of them and the API server is not what is measured.
 */
async function flood(command: readonly string[], stage: Stage, row: Report): Promise<void> {
  const subject = await Subject.start(command, stage, FLEET.crowd);
  try {
    await subject.filled(CROWD * KINDS, PATIENCE);
    await subject.quiet();
    await subject.ask("reset");
    const cpu = subject.cpuMs();
    const order = { order: "flood", clusters: [hot], objects: HOT_OBJECTS, changes: FLOOD, inflight: 16 };
    const { startedAt } = (await stage.load(order)) as { startedAt: number };
    const { seen, seenAt } = await subject.quiet();
    const took = (seenAt - startedAt) / 1e9;
    // A key that changes again before its turn is reconciled once: who is slower has less to do, so both are told.
    row(`${FLOOD * CROWD} events and no more to do after`, took, `${took.toFixed(1)} s, ${seen} reconciles`);
    row("reconciles meanwhile", took / seen, `${Math.round(seen / took)}/s`);
    const spent = subject.cpuMs() - cpu;
    row("CPU for 1,000 reconciles", spent / seen, `${((spent / seen) * 1000).toFixed(0)} ms`);
  } finally {
    await subject.end();
  }
}

/** Clusters that were well and stop to answer, while reconciles ask them again and again. */
async function freezing(command: readonly string[], stage: Stage, row: Report): Promise<void> {
  const subject = await Subject.start(command, stage, FLEET.freezing);
  try {
    await subject.filled((HEALTHY + FROZEN) * KINDS, PATIENCE);
    await subject.ask(`remote ${ASK_EVERY}`);
    await stage.load({ order: "steady", clusters: frozen, objects: FROZEN_OBJECTS, rate: FROZEN_OBJECTS, seconds: 1 });
    const before = await best(() => lateness(subject, stage));
    stage.freeze(true);
    const after = await lateness(subject, stage);
    row(`p99 of ${HEALTHY} clusters that are asked too`, before.own, before.text);
    row(`the same when ${FROZEN} others fall silent`, after.own, after.text);
    row("what they cost the healthy", after.own / before.own, times(after.own / before.own));
  } finally {
    await subject.end();
    stage.freeze(false);
  }
}

/** Clusters that are ill from the beginning, each in its own way. */
async function sick(command: readonly string[], stage: Stage, row: Report): Promise<void> {
  const subject = await Subject.start(command, stage, FLEET.sick);
  try {
    const reached = await subject.filledOf(healthy, SICK_PATIENCE);
    const text = `${reached.count} of ${HEALTHY} in ${(reached.ms / 1000).toFixed(1)} s`;
    row(`healthy clusters filled among ${SICKNESSES.length} ill ones`, reached.ms, text);
    await subject.ask(`work ${WORK_MS}`);
    const among = await best(() => lateness(subject, stage));
    row("p99 of the healthy among them", among.own, among.text);
  } finally {
    await subject.end();
  }
}

/** What is late on the way from a change to the start of its reconcile; in milliseconds, of 99 in 100. */
interface Lateness {
  readonly all: number;
  /** After a bare watch in another process has seen the same change: what is the runtime's, and not the API server's. */
  readonly own: number;
  readonly median: number;
  /** For the table: both, and how many changes were never seen. */
  readonly text: string;
}

/** How late reconciles of the healthy clusters are, each of which changes a few times a second. */
async function lateness(subject: Subject, stage: Stage): Promise<Lateness> {
  await subject.ask("reset");
  const order = { order: "steady", clusters: healthy, objects: OBJECTS, rate: RATE, seconds: SECONDS, isWatched: true };
  const { late } = (await stage.load(order)) as { late: Record<string, number> };
  await subject.quiet();
  const { latencies } = (await subject.ask("latencies")) as { latencies: Record<string, number> };
  // What was never seen took longer than anything that was.
  const total = Object.keys(late).map((stamp) => latencies[stamp] ?? Number.POSITIVE_INFINITY);
  const own = Object.entries(late).map(([stamp, bare]) => Math.max(0, (latencies[stamp] ?? Infinity) - bare));
  const lost = total.filter((each) => !Number.isFinite(each)).length / total.length;
  const [p99, ownP99] = [quantile(total, 0.99), quantile(own, 0.99)];
  const never = lost > 0.001 ? `, ${(lost * 100).toFixed(0)} % never` : "";
  return { all: p99, own: ownP99, median: quantile(own, 0.5), text: `${ms(p99)}, own ${ms(ownP99)}${never}` };
}

/** Of two: the machine may have been busy with something else. */
async function best(measureOnce: () => Promise<Lateness>): Promise<Lateness> {
  const [one, other] = [await measureOnce(), await measureOnce()];
  return other.own < one.own ? other : one;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** A measured process. */
class Subject {
  readonly #child: ChildProcess;
  readonly #startedAt: bigint;
  readonly #answers: ((line: string) => void)[] = [];

  static async start(command: readonly string[], { hub }: Stage, namespace: string): Promise<Subject> {
    const [program = "", ...args] = command;
    const flags = ["--hub", hub, "--namespace", namespace, "--workers", String(WORKERS)];
    return new Subject(program, [...args, ...flags]);
  }

  constructor(program: string, args: string[]) {
    this.#startedAt = process.hrtime.bigint();
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    const { stdout } = this.#child;
    if (stdout) createInterface({ input: stdout }).on("line", (line) => this.#answers.shift()?.(line));
    this.#child.once("exit", () => {
      for (const answer of this.#answers.splice(0)) answer("{}");
    });
  }

  async ask(order: string): Promise<Record<string, unknown>> {
    const answer = new Promise<string>((resolve) => this.#answers.push(resolve));
    this.#child.stdin?.write(`${order}\n`);
    return JSON.parse(await answer);
  }

  /** Until so many pairs of kind and cluster have been reconciled; counted from the start of the process. */
  async filled(wanted: number, patience: number): Promise<{ ms: number; missing: string }> {
    const deadline = Date.now() + patience;
    for (;;) {
      const { filled, filledAt } = (await this.ask("state")) as { filled: number; filledAt: number };
      const missing = filled < wanted ? `, ${wanted - filled} of them never` : "";
      if (missing === "" || Date.now() > deadline) return { ms: this.#since(filledAt), missing };
      await pause(200);
    }
  }

  /** Until all kinds of these clusters have been reconciled. */
  async filledOf(clusters: readonly string[], patience: number): Promise<{ ms: number; count: number }> {
    const deadline = Date.now() + patience;
    for (;;) {
      const { kinds = {} } = (await this.ask("filled")) as { kinds?: Record<string, number> };
      const count = clusters.filter((name) => kinds[name] === KINDS).length;
      const now = Number(process.hrtime.bigint());
      if (count === clusters.length || Date.now() > deadline) return { ms: this.#since(now), count };
      await pause(100);
    }
  }

  #since(at: number): number {
    return (at - Number(this.#startedAt)) / 1e6;
  }

  /** Until nothing new was seen for a second, within a minute. */
  async quiet(): Promise<{ seen: number; seenAt: number }> {
    const deadline = Date.now() + 60_000;
    for (let last = -1; ; ) {
      const { seen, seenAt } = (await this.ask("state")) as { seen: number; seenAt: number };
      if (seen === last || Date.now() > deadline) return { seen, seenAt };
      last = seen;
      await pause(1_000);
    }
  }

  memoryMb(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024;
  }

  /** Of both kinds, user's and system's, since the start; the kernel counts in hundredths of a second. */
  cpuMs(): number {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  async end(): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    const late = setTimeout(() => this.#child.kill("SIGKILL"), 5_000);
    await gone;
    clearTimeout(late);
  }
}

interface Stage {
  /** The kubeconfig of the hub. */
  readonly hub: string;
  /** Lets the load process carry out an order. */
  load(order: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Stops the process that serves some of the clusters, or lets it go on. */
  freeze(on: boolean): void;
  close(): Promise<void>;
}

/** Clusters, objects on them, and a hub that knows them all. */
async function prepare(): Promise<Stage> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-bench-"));
  const iceDir = await mkdtemp(join(tmpdir(), "capstan-bench-"));
  const started = performance.now();
  const [servers, ice] = await Promise.all([
    serve(dir, ["hub", ...names("c", CLUSTERS)], 20_000),
    serve(iceDir, frozen, 25_000),
  ]);
  console.log(`${CLUSTERS} clusters serve after ${((performance.now() - started) / 1000).toFixed(1)} s`);
  const ill = await Promise.all(SICKNESSES.map((sickness) => sickServer(sickness)));
  const load = startLoad();

  const kubeconfigOf = (name: string) => join(frozen.includes(name) ? iceDir : dir, `${name}.kubeconfig`);
  const textOf = (name: string) => readFileSync(kubeconfigOf(name), "utf8");
  const illText = ({ server, ca, cert, key, token }: Connection, name: string) =>
    kubeconfigText(
      kubeconfigFor({ name, server, ...(ca && { ca }), ...(cert && key && { cert, key }), ...(token && { token }) }),
    );
  await offer(kubeconfigOf("hub"), {
    [FLEET.none]: [],
    [FLEET.all]: names("c", CLUSTERS).map((name) => [name, textOf(name)]),
    [FLEET.crowd]: names("w", CROWD).map((name) => [name, textOf(hot)]),
    [FLEET.freezing]: [...healthy, ...frozen].map((name) => [name, textOf(name)]),
    [FLEET.sick]: [
      ...healthy.map((name): [string, string] => [name, textOf(name)]),
      // Their names put them between the healthy ones, whatever order a runtime takes them in.
      ...ill.map(({ sickness, connection }, index): [string, string] => [
        `${healthy[index * 3] ?? "c"}-${sickness}`,
        illText(connection, sickness),
      ]),
    ],
  });

  const loaded = [...new Set([...healthy, ...frozen, hot])];
  const targets = await Promise.all(
    loaded.map(async (name) => ({ name, ...(await connectionTo(kubeconfigOf(name))) })),
  );
  await load.order({ order: "connect", targets });
  await load.order({ order: "create", clusters: healthy, objects: OBJECTS });
  await load.order({ order: "create", clusters: frozen, objects: FROZEN_OBJECTS, data: { again: "yes" } });
  await load.order({ order: "create", clusters: [hot], objects: HOT_OBJECTS });
  console.log(`all is prepared after ${((performance.now() - started) / 1000).toFixed(1)} s`);

  return {
    hub: kubeconfigOf("hub"),
    load: load.order,
    freeze: (on) => ice.kill(on ? "SIGSTOP" : "SIGCONT"),
    async close() {
      load.end();
      await Promise.all([ended(servers), ended(ice), ...ill.map((server) => server.stop())]);
      await Promise.all([dir, iceDir].map((folder) => rm(folder, { recursive: true, force: true })));
    },
  };
}

async function connectionTo(kubeconfig: string): Promise<Connection> {
  return connectionOf(await loadKubeconfig({ path: kubeconfig }));
}

/** Puts kubeconfigs into Secrets of the hub, by namespace and name. */
async function offer(hub: string, fleets: Record<string, [name: string, kubeconfig: string][]>): Promise<void> {
  const client = createClient({ connection: await connectionTo(hub) });
  const [label = ""] = KUBECONFIG_SECRET_LABELS;
  const labels = Object.fromEntries([label.split("=")]);
  for (const [namespace, secrets] of Object.entries(fleets)) {
    await client.create(Namespace, { metadata: { name: namespace } });
    await forEach(secrets, ([name, kubeconfig]) =>
      client.create(Secret, { metadata: { name, namespace, labels }, stringData: { kubeconfig } }),
    );
  }
  client.close();
}

function startLoad() {
  const child = spawn(process.execPath, [path("./fleet-load.mjs")], { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map<number, (answer: Record<string, unknown>) => void>();
  let orders = 0;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { id, ...answer } = JSON.parse(line);
    waiting.get(id)?.(answer);
    waiting.delete(id);
  });
  return {
    async order(order: Record<string, unknown>): Promise<Record<string, unknown>> {
      const id = ++orders;
      const answered = new Promise<Record<string, unknown>>((resolve) => waiting.set(id, resolve));
      child.stdin.write(`${JSON.stringify({ id, ...order })}\n`);
      const answer = await answered;
      if (answer.error) throw new Error(`the load failed: ${answer.error}`);
      return answer;
    },
    end: () => child.stdin.end(),
  };
}

async function serve(dir: string, clusters: readonly string[], port: number): Promise<ChildProcess> {
  const flags = ["--durability", "memory", "--no-node", "--port", String(port)];
  const args = ["apiserver", "--clusters", clusters.join(","), "--data-dir", dir, ...flags];
  const child = spawn(process.execPath, [path("../dist/cli/main.js"), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout.once("data", () => resolve());
    child.once("exit", (code) => reject(new Error(`the API server ended with ${code}`)));
  });
  return child;
}

function names(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${letter}${String(index).padStart(4, "0")}`);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function ms(value: number): string {
  return Number.isFinite(value) ? `${value.toFixed(value < 10 ? 1 : 0)} ms` : "∞";
}

function times(value: number): string {
  return Number.isFinite(value) ? `${value.toFixed(2)} times` : "without end";
}
