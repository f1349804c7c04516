/**
 * Many work agents in one process for `npm run bench:work`, as a host runs them for clusters that are elsewhere: each with
 * connections and an identity of its own. Each line of standard input tells of one, as JSON: the name of its cluster and
 * two kubeconfigs. It ends with its input.
 */
import { setMaxListeners } from "node:events";
import { createInterface } from "node:readline";
import { runWork, wayInFile } from "#app/programs";
import { connectionOf, createClient, loadKubeconfig } from "#kube";
import { systemClock as clock } from "#lib/clock";
import { createLogger } from "#lib/log";
import { spareMemory } from "../dist/cli/resting.js";

spareMemory(); // as `capstan agent` does

const stopping = new AbortController();
setMaxListeners(0, stopping.signal); // all agents hear the one signal
const agents = [];
// What an agent complains about is worth seeing, but not a thousand times.
let said = 0;
const write = (line) => {
  if (said++ < 20) process.stderr.write(`${line}\n`);
};
const log = createLogger({ level: "warn", format: "human", clock, write });

process.stdout.write("ready\n");
for await (const line of createInterface({ input: process.stdin })) {
  const { clusterName, hub, spoke } = JSON.parse(line);
  const client = createClient({ connection: await connectionOf(await loadKubeconfig({ path: spoke })) });
  const agent = runWork({
    spoke: client,
    clusterName,
    hub: wayInFile(hub, { clusterName, clock, log }),
    clock,
    log,
    signal: stopping.signal,
  });
  agents.push(agent.finally(() => client.close()));
}
stopping.abort();
await Promise.allSettled(agents);
