/**
 * Clusters that are only there, for `npm run bench:fleet`: makes so many ManagedClusters that are let in, says of each
 * that it is available when the hub has made its Lease, and beats for all of them, once in 60 to 75 seconds each, over
 * a few connections of an administrator. Tells on standard output, a line of JSON each, when all are there (`joined`),
 * and every ten seconds how many beats came through and how long they took (`beats`). Ends with its input.
 */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { connectionOf, createCache, createClient, isConflict, parseKubeconfig } from "#kube";

const { values } = parseArgs({ options: { kubeconfig: { type: "string" }, clusters: { type: "string" } } });
const CLUSTERS = Number(values.clusters);
const CONNECTIONS = 50;
const INFLIGHT = 64;
const BEAT_MS = 60_000;
const JITTER = 0.25;
const LEASE = "managed-cluster-lease";

const kubeconfig = parseKubeconfig(await readFile(values.kubeconfig, "utf8"), "the hub");
const connection = await connectionOf(kubeconfig);
const clients = Array.from({ length: CONNECTIONS }, () => createClient({ connection }));
const names = Array.from({ length: CLUSTERS }, (_, index) => `lease-${String(index).padStart(5, "0")}`);
const clientOf = (index) => clients[index % CONNECTIONS];
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const stopping = new AbortController();
process.stdin.resume().once("end", () => stopping.abort());

// The newest of each Lease, without a request for each.
const leases = createCache({ client: clients[0], kind: Lease, scope: { fieldSelector: `metadata.name=${LEASE}` } });
leases.start(stopping.signal);
await leases.whenSynced();

const started = performance.now();
await eachOf(names, async (name, index) => {
  const spec = { hubAcceptsClient: true, leaseDurationSeconds: BEAT_MS / 1000 };
  await clientOf(index).create(ManagedCluster, { metadata: { name }, spec });
});
const made = performance.now();
while (leases.list().length < CLUSTERS && !stopping.signal.aborted) await pause(200);
await eachOf(names, tellAvailable);
say({ joined: { made: (made - started) / 1000, all: (performance.now() - started) / 1000 } });

let [beats, late, longest, total] = [0, 0, 0, 0];
for (const [index, name] of names.entries()) setTimeout(() => beat(name, index), Math.random() * BEAT_MS);
const telling = setInterval(() => {
  say({ beats, late, longest: Math.round(longest), mean: beats > 0 ? total / beats : 0 });
  [beats, late, longest, total] = [0, 0, 0, 0];
}, 10_000);
await new Promise((resolve) => stopping.signal.addEventListener("abort", resolve, { once: true }));
clearInterval(telling);
for (const client of clients) client.close();
process.exit(0);

async function beat(name, index) {
  setTimeout(() => beat(name, index), BEAT_MS * (1 + JITTER * Math.random()));
  const lease = leases.get(`${name}/${LEASE}`);
  const began = performance.now();
  try {
    const renewTime = new Date().toISOString().replace("Z", "000Z");
    await clientOf(index).update(Lease, { ...lease, spec: { ...lease.spec, renewTime } });
    const took = performance.now() - began;
    [beats, longest, total] = [beats + 1, Math.max(longest, took), total + took];
  } catch {
    late++;
  }
}

async function tellAvailable(name, index) {
  const client = clientOf(index);
  const condition = (type) => ({
    type,
    status: "True",
    reason: type,
    message: "",
    lastTransitionTime: `${new Date().toISOString().slice(0, 19)}Z`,
  });
  for (;;) {
    const { metadata, status } = await client.get(ManagedCluster, name);
    const own = ["ManagedClusterJoined", "ManagedClusterConditionAvailable"];
    const others = (status?.conditions ?? []).filter(({ type }) => !own.includes(type));
    const { resourceVersion } = metadata;
    const patch = {
      metadata: { resourceVersion },
      status: { conditions: [...others, ...own.map(condition)], version: { kubernetes: "v1.36.3" } },
    };
    try {
      await client.patch(ManagedCluster, name, patch, { subresource: "status" });
      return;
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}

async function eachOf(items, task) {
  let at = 0;
  const worker = async () => {
    while (at < items.length && !stopping.signal.aborted) {
      const index = at++;
      await task(items[index], index);
    }
  };
  await Promise.all(Array.from({ length: INFLIGHT }, worker));
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
