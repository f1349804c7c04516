/**
 * Many agents in one process for `npm run bench:fleet`: the registration agent as it is, once for each cluster, with a
 * connection of its own to the hub. Their clusters are one embedded API server in the same process, on which each agent
 * has a namespace. Each line of standard input is the name of a cluster that joins now; it ends with its input.
 */
import { setMaxListeners } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Node } from "#api/core";
import { openCluster } from "#apiserver";
import { runRegistrationAgent } from "#features/registration/agent";
import { spokeCrds } from "#features/registration/hub";
import { connectionOf, createClient, parseKubeconfig } from "#kube";
import { systemClock as clock } from "#lib/clock";
import { createLogger, silentLog } from "#lib/log";
import { connectedCluster } from "#runtime";

const { values } = parseArgs({ options: { bootstrap: { type: "string" } } });
const bootstrapKubeconfig = await readFile(values.bootstrap, "utf8");

const dir = await mkdtemp(join(tmpdir(), "capstan-bench-agents-"));
const server = await openCluster({
  name: "spokes",
  dir,
  durability: "memory",
  ports: [0],
  signingDurationMs: 3_600_000,
  version: "0.0.0-bench",
  clock,
  log: silentLog,
});
const direct = server.connect(server.administrator.certificate);
const spoke = connectedCluster({
  name: "spoke",
  client: createClient({ connection: { server: server.url }, direct }),
  clock,
  log: silentLog,
});
await prepare(spoke.client);

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
for await (const clusterName of createInterface({ input: process.stdin })) {
  agents.push(
    runRegistrationAgent({
      spoke,
      clusterName,
      namespace: `agent-${clusterName}`,
      bootstrapKubeconfig,
      endpoints: [{ url: `https://${clusterName}.invalid` }],
      async connectHub(text) {
        const client = createClient({ connection: await connectionOf(parseKubeconfig(text, "the hub")) });
        return connectedCluster({ name: "hub", client, clock, log });
      },
      clock,
      log,
      signal: stopping.signal,
    }),
  );
}
stopping.abort();
await Promise.allSettled(agents);
await server.close();
await rm(dir, { recursive: true, force: true });

/** Something to tell the hub: kinds, one node, and what it has. */
async function prepare(client) {
  for (const definition of spokeCrds) await client.create(CustomResourceDefinition, definition);
  await client.create(Node, { metadata: { name: "one" } });
  const capacity = { cpu: "4", memory: "16Gi", pods: "110" };
  await client.patch(Node, "one", { status: { capacity, allocatable: capacity } }, { subresource: "status" });
}
