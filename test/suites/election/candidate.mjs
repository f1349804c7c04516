/**
 * A candidate for a Lease, in a process of its own, from the built library. While it leads it keeps a ledger: it counts
 * on from where the ledger is, by server-side apply under its own name. Orders come as one JSON argument.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigMap } from "../../../dist/api/core/index.js";
import { connectionOf, createClient, loadKubeconfig } from "../../../dist/kube/index.js";
import { createElection, silentLog, systemClock } from "../../../dist/runtime/index.js";

const { kubeconfig, identity, lease, ledger, timing } = JSON.parse(process.argv[2]);
const client = createClient({ connection: await connectionOf(await loadKubeconfig({ path: kubeconfig })) });
const election = createElection({ client, clock: systemClock, log: silentLog, lease, identity, timing });

await election.run(new AbortController().signal, async (leading) => {
  let count = Number((await client.get(ConfigMap, `${ledger.namespace}/${ledger.name}`)).data?.count ?? 0);
  while (!leading.aborted) {
    const page = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: ledger,
      data: { writer: identity, count: `${++count}` },
    };
    const options = { type: "apply", fieldManager: identity, force: true, signal: leading };
    await client.patch(ConfigMap, `${ledger.namespace}/${ledger.name}`, page, options);
    await sleep(5);
  }
});
