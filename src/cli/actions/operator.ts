/** Runs an operator for `capstan operator …`, in a Pod or in the foreground. */

import type { ProgramContext } from "#app";
import { createProgramMetrics, type OperatorOptions, runClusterManager, runKlusterlet } from "#app";
import { createClient } from "#kube";
import { systemClock } from "#lib/clock";
import { createLogger } from "#lib/log";
import type { OperatorFlags } from "../commands/operator.ts";
import { programConnection } from "../connection.ts";
import { logLevel } from "../options.ts";
import { processContext } from "../program-context.ts";

export async function runClusterManagerOperator(flags: OperatorFlags, context = processContext()): Promise<void> {
  await runOperator("cluster-manager", runClusterManager, flags, context);
}

export async function runKlusterletOperator(flags: OperatorFlags, context = processContext()): Promise<void> {
  await runOperator("klusterlet", runKlusterlet, flags, context);
}

async function runOperator(
  name: string,
  run: (options: OperatorOptions) => Promise<void>,
  flags: OperatorFlags,
  context: ProgramContext,
): Promise<void> {
  const { image, leaderElect, leaderElectNamespace, metricsAddress, enableSyncLabels = false } = flags;
  const metrics = metricsAddress && createProgramMetrics({ clock: systemClock });
  const connection = await programConnection(flags, context);
  const client = createClient({ connection, ...(metrics && { metrics: metrics.client }) });
  const identity = context.env.POD_NAME;
  // While the server cannot be reached nothing but the clock's timers may be left, and they keep no process alive.
  const awake = setInterval(() => {}, 2 ** 30);
  try {
    await run({
      client,
      image,
      syncLabels: enableSyncLabels,
      ...(leaderElect && {
        lease: { namespace: leaderElectNamespace, name: `${name}-lock`, ...(identity !== undefined && { identity }) },
      }),
      ...(metricsAddress && { endpoints: metricsAddress }),
      ...(metrics && { metrics }),
      onReady: context.ready,
      clock: systemClock,
      log: createLogger({ level: logLevel(), format: "human", clock: systemClock, write: context.write }),
      signal: context.signal,
    });
  } finally {
    clearInterval(awake);
    client.close();
  }
}
