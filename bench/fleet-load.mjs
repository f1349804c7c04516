/**
 * Changes on many clusters, in a process of its own: patches of ConfigMaps that carry the time at which they were
 * sent, over raw HTTP/2. Each line of standard input is an order in JSON, each line of standard output its result.
 *
 * - `connect`: `targets` are clusters with `name`, `server`, `ca`, `cert`, `key`
 * - `create`: so many `objects` on each of `clusters`, with `data`
 * - `steady`: `rate` changes a second on each of `clusters`, for `seconds`, whether or not they are answered; with
 *   `isWatched` it tells how late a bare watch beside sees them
 * - `flood`: so many `changes` on `clusters` in turn, `inflight` at a time
 */
import { connect } from "node:http2";
import { createInterface } from "node:readline";

const COLLECTION = "/api/v1/namespaces/default/configmaps";
const PADDING = "x".repeat(800);
const sessions = new Map();
/** By cluster, the object that is changed next: all take turns, so that no change hides another. */
const turns = new Map();
const nameOf = (n) => `load-${String(n).padStart(4, "0")}`;

const ORDERS = {
  async connect({ targets }) {
    await eachOf(targets, 32, async ({ name, server, ca, cert, key }) => {
      const session = connect(server, { ca, cert, key });
      await new Promise((resolve, reject) => session.once("connect", resolve).once("error", reject));
      session.on("error", () => {});
      sessions.set(name, session);
    });
    return { connected: sessions.size };
  },
  async create({ clusters, objects, data = {} }) {
    const wanted = clusters.flatMap((cluster) => Array.from({ length: objects }, (_, n) => [cluster, n]));
    await eachOf(wanted, 32, async ([cluster, n]) => {
      const body = {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: nameOf(n) },
        data: { ...data, padding: PADDING },
      };
      const code = await send(cluster, "POST", COLLECTION, "application/json", JSON.stringify(body));
      if (code !== 201) throw new Error(`a ConfigMap on ${cluster} was answered ${code}`);
    });
    return { created: wanted.length };
  },
  async steady({ clusters, objects, rate, seconds, isWatched }) {
    const late = {};
    const watches = isWatched ? await Promise.all(clusters.map((cluster) => watch(cluster, late))) : [];
    const started = performance.now();
    const pending = new Set();
    const total = clusters.length * rate * seconds;
    // Spread evenly over time and clusters; what is late because this process was busy is caught up with.
    for (let n = 0; n < total; n++) {
      const due = started + (n / (clusters.length * rate)) * 1000;
      const wait = due - performance.now();
      if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
      const cluster = clusters[n % clusters.length];
      const change = patch(cluster, objects).finally(() => pending.delete(change));
      pending.add(change);
    }
    await Promise.all(pending);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    for (const stream of watches) stream.close();
    return { late };
  },
  async flood({ clusters, objects, changes, inflight }) {
    const started = process.hrtime.bigint();
    let n = 0;
    const worker = async () => {
      while (n < changes) await patch(clusters[n++ % clusters.length], objects);
    };
    await Promise.all(Array.from({ length: inflight }, worker));
    return { startedAt: Number(started) };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { order, ...details } = JSON.parse(line);
  // Several orders may be carried out at once: an answer says whose it is.
  ORDERS[order](details).then(
    (result) => console.log(JSON.stringify({ id: details.id, ...result })),
    (error) => console.log(JSON.stringify({ id: details.id, error: String(error) })),
  );
}
for (const session of sessions.values()) session.destroy();

/** Notes by stamp how many milliseconds after it was sent each new change is seen. */
async function watch(cluster, late) {
  const since = process.hrtime.bigint();
  const stream = sessions.get(cluster).request({ ":path": `${COLLECTION}?watch=true` });
  stream.on("error", () => {});
  stream.on("data", (chunk) => {
    for (const [, stamp] of chunk.toString("latin1").matchAll(/"sent":"(\d+)"/g)) {
      if (BigInt(stamp) > since) late[stamp] = Number(process.hrtime.bigint() - BigInt(stamp)) / 1e6;
    }
  });
  await new Promise((resolve) => stream.once("response", resolve));
  return stream;
}

async function patch(cluster, objects) {
  const turn = turns.get(cluster) ?? 0;
  turns.set(cluster, turn + 1);
  const body = JSON.stringify({ data: { sent: String(process.hrtime.bigint()) } });
  const path = `${COLLECTION}/${nameOf(turn % objects)}`;
  const code = await send(cluster, "PATCH", path, "application/merge-patch+json", body);
  if (code !== 200) throw new Error(`PATCH ${path} on ${cluster} was answered ${code}`);
}

function send(cluster, method, path, type, body) {
  return new Promise((resolve) => {
    const headers = { ":method": method, ":path": path, "content-type": type };
    const stream = sessions.get(cluster).request(headers);
    let code = 0;
    stream.on("response", (answer) => {
      code = answer[":status"];
    });
    stream.on("data", () => {});
    stream.once("error", () => {});
    stream.once("close", () => resolve(code));
    stream.end(body);
  });
}

async function eachOf(items, inflight, task) {
  let at = 0;
  const worker = async () => {
    while (at < items.length) await task(items[at++]);
  };
  await Promise.all(Array.from({ length: inflight }, worker));
}
