/**
 * The measured process of `npm run bench:runtime`: five controllers over the clusters of kubeconfig Secrets on the
 * hub, written as anybody would write them. It is told what to do on standard input, a word and perhaps a number on
 * each line, and answers each with a line of JSON. Its twin is tools/strangers/multicluster-runtime/main.go.
 */
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { ConfigMap, Namespace, Service, ServiceAccount } from "capstan/api/core";
import { EndpointSlice } from "capstan/api/discovery";
import { keyOf } from "capstan/api/meta";
import { defaultConnection } from "capstan/kube";
import {
  again,
  createFleet,
  createProgram,
  done,
  isUnreachable,
  kubeconfigSecretsProvider,
  silentLog,
  splitClusterKey,
} from "capstan/runtime";

const { values } = parseArgs({
  options: { hub: { type: "string" }, namespace: { type: "string" }, workers: { type: "string", default: "8" } },
});

const KINDS = [ConfigMap, Namespace, Service, ServiceAccount, EndpointSlice];

/** By kind, the clusters of which something was reconciled, and when the last of them was first seen. */
const filled = new Map(KINDS.map(({ plural }) => [plural, new Set()]));
let filledAt = 0n;
/** Changes stamped after `since`: by stamp, how many milliseconds each took; and when the last of them was seen. */
let since = 0n;
let latencies = new Map();
let seen = 0;
let seenAt = 0n;
const stamps = new Map();
/** Milliseconds of pretended work in a reconcile. */
let work = 0;
/** Whether reconciles ask their cluster, and after how many milliseconds those come again that are to; 0: they do not. */
let remote = 0;

const connection = await defaultConnection({ kubeconfig: values.hub });
const { hub, clock, log, run } = await createProgram({ name: "bench", hub: connection, log: silentLog });
const provider = kubeconfigSecretsProvider({ hub, namespace: values.namespace, clock });
const fleet = createFleet({ provider, clock, log });

const controllers = KINDS.map((kind) => {
  const cache = fleet.cache(kind);
  return {
    name: kind.plural,
    concurrency: Number(values.workers),
    triggers: [cache.keyedBy(keyOf)],
    async reconcile(key) {
      const { cluster, key: name } = splitClusterKey(key);
      const clusters = filled.get(kind.plural);
      if (!clusters.has(cluster)) {
        clusters.add(cluster);
        filledAt = process.hrtime.bigint();
      }
      if (kind !== ConfigMap) return done;
      const spoke = await fleet.reach(cluster);
      if (isUnreachable(spoke)) return done;
      const { sent: stamp, again: isToComeAgain } = cache.get(cluster, name)?.data ?? {};
      note(key, stamp);
      if (work > 0) await new Promise((resolve) => setTimeout(resolve, work));
      if (remote === 0 || stamp === undefined) return done;
      await spoke.client.get(ConfigMap, name);
      return isToComeAgain ? again(remote) : done;
    },
  };
});

function note(key, stamp) {
  if (stamp === undefined || BigInt(stamp) < since || stamps.get(key) === stamp) return;
  stamps.set(key, stamp);
  seen++;
  seenAt = process.hrtime.bigint();
  latencies.set(stamp, Number(seenAt - BigInt(stamp)) / 1e6);
}

function answer(word, number) {
  if (word === "work") work = number;
  else if (word === "remote") remote = number;
  else if (word === "reset") {
    since = process.hrtime.bigint();
    latencies = new Map();
    seen = 0;
  } else if (word === "latencies") return { latencies: Object.fromEntries(latencies) };
  else if (word === "filled") {
    const kinds = {};
    for (const clusters of filled.values()) for (const name of clusters) kinds[name] = (kinds[name] ?? 0) + 1;
    return { kinds };
  }
  const count = [...filled.values()].reduce((total, { size }) => total + size, 0);
  return { filled: count, filledAt: Number(filledAt), seen, seenAt: Number(seenAt) };
}

const orders = createInterface({ input: process.stdin });
orders.on("line", (line) => {
  const [word, number] = line.split(" ");
  process.stdout.write(`${JSON.stringify(answer(word, Number(number)))}\n`);
});

await run({ controllers, fleet });
orders.close();
process.stdin.destroy();
