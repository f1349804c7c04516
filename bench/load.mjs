/**
 * Load for one API server, in a process of its own: prepared requests over raw HTTP/2, so many in flight, answers
 * counted and not parsed. Reads one JSON line of orders from standard input, writes one of results.
 */
import { connect } from "node:http2";

const order = JSON.parse(await firstLine());
const { server, ca, cert, key, inflight, seconds, count, operation, namespace, size } = order;

const collection = `/api/v1/namespaces/${namespace}/configmaps`;
const padding = "x".repeat(Math.max(0, size - 200));
const name = (n) => `load-${String(n).padStart(6, "0")}`;
const body = (n, round) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: name(n), namespace },
    data: { n: String(round), padding },
  });

const requests = {
  create: (n) => [{ ":method": "POST", ":path": collection, "content-type": "application/json" }, body(n, 0)],
  get: (n) => [{ ":method": "GET", ":path": `${collection}/${name(n % count)}` }],
  patch: (n) => [
    { ":method": "PATCH", ":path": `${collection}/${name(n % count)}`, "content-type": "application/merge-patch+json" },
    JSON.stringify({ data: { n: String(n) } }),
  ],
  apply: (n) => [
    {
      ":method": "PATCH",
      ":path": `${collection}/${name(n % count)}?fieldManager=load&force=true`,
      "content-type": "application/apply-patch+yaml",
    },
    body(n % count, n),
  ],
  delete: (n) => [{ ":method": "DELETE", ":path": `${collection}/${name(n)}` }],
  list: () => [{ ":method": "GET", ":path": collection }],
  page: () => [{ ":method": "GET", ":path": `${collection}?limit=500` }],
};

const sessions = await Promise.all(
  Array.from({ length: Math.ceil(inflight / 16) }, async () => {
    const session = connect(server, { ca, cert, key, settings: { initialWindowSize: 4 << 20 } });
    session.setMaxListeners(0);
    await new Promise((resolve, reject) => session.once("connect", resolve).once("error", reject));
    session.setLocalWindowSize(16 << 20);
    return session;
  }),
);

const result = operation === "watch" ? await fanOut() : await hammer();
console.log(JSON.stringify(result));
for (const session of sessions) session.destroy();

async function hammer() {
  let [sent, done, failed] = [0, 0, 0];
  const codes = {};
  const started = performance.now();
  const cpu = process.cpuUsage();
  const deadline = started + seconds * 1000;
  const bounded = operation === "create" || operation === "delete";
  const more = () => (bounded ? sent < count : true) && performance.now() < deadline;
  const worker = async (index) => {
    const session = sessions[index % sessions.length];
    while (more()) {
      const [headers, text] = requests[operation](sent++);
      const code = await send(session, headers, text);
      if (code >= 200 && code < 300) done++;
      else {
        failed++;
        codes[code] = (codes[code] ?? 0) + 1;
      }
    }
  };
  await Promise.all(Array.from({ length: inflight }, (_, index) => worker(index)));
  const elapsed = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { rate: done / elapsed, done, failed, codes, elapsed, clientCpu: (user + system) / 1e6 / elapsed };
}

/** So many watchers on one resource while one writer patches: events delivered per second. */
async function fanOut() {
  let delivered = 0;
  const watchers = order.watchers;
  await Promise.all(
    Array.from({ length: watchers }, (_, index) => {
      const stream = sessions[index % sessions.length].request({
        ":method": "GET",
        ":path": `${collection}?watch=true&resourceVersion=${order.since}`,
      });
      stream.on("data", (chunk) => {
        for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) delivered++;
      });
      stream.on("error", () => {});
      stream.end();
      return new Promise((resolve) => stream.once("response", resolve));
    }),
  );
  const started = performance.now();
  const cpu = process.cpuUsage();
  const events = order.events;
  let sent = 0;
  const worker = async (index) => {
    while (sent < events) {
      // A value that no object has: a patch that changes nothing makes no event.
      const [headers] = requests.patch(sent++);
      await send(sessions[index % sessions.length], headers, JSON.stringify({ data: { n: `watched ${sent}` } }));
    }
  };
  await Promise.all(Array.from({ length: 4 }, (_, index) => worker(index)));
  const deadline = performance.now() + 60_000;
  while (delivered < events * watchers && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 5));
  const elapsed = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const clientCpu = (user + system) / 1e6 / elapsed;
  return { rate: delivered / elapsed, done: delivered, failed: events * watchers - delivered, elapsed, clientCpu };
}

function send(session, headers, text) {
  return new Promise((resolve) => {
    const stream = session.request(headers, { endStream: text === undefined });
    let code = 0;
    stream.on("response", (answer) => {
      code = answer[":status"];
    });
    stream.on("data", () => {});
    stream.once("error", () => {});
    stream.once("close", () => resolve(code));
    if (text !== undefined) stream.end(text);
  });
}

async function firstLine() {
  let text = "";
  for await (const chunk of process.stdin) {
    text += chunk;
    if (text.includes("\n")) break;
  }
  return text.slice(0, text.indexOf("\n"));
}
