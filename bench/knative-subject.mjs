/**
 * The measured process of `npm run bench:knative`: the Knative operator and nothing else, so that its memory and its
 * time are its own. It writes a line when it runs.
 */
import { parseArgs } from "node:util";
import { knativeParts, stopSignal } from "#app";
import { directorySource } from "#features/knative";
import { connectionOf, createClient, loadKubeconfig } from "#kube";
import { systemClock as clock } from "#lib/clock";
import { silentLog as log } from "#lib/log";
import { connectedCluster, runControllers } from "#runtime";

const { values } = parseArgs({
  options: { kubeconfig: { type: "string" }, providers: { type: "string" }, releases: { type: "string" } },
});

const signal = stopSignal();
const client = createClient({ connection: await connectionOf(await loadKubeconfig({ path: values.kubeconfig })) });
const hub = connectedCluster({ name: "hub", client, clock, log });
const { controllers, fleet, close } = await knativeParts({
  hub,
  ...(values.providers && { providerFile: values.providers }),
  releases: directorySource(values.releases),
  clock,
  log,
  signal,
});
process.stdout.write("it runs\n");
await Promise.all([fleet.run(signal), runControllers({ controllers, fleet, clock, log, signal })]);
close();
client.close();
