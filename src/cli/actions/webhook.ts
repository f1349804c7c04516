/** Runs a webhook for `capstan webhook …`, in a Pod or in the foreground. */
import type { WebhookProgram } from "#api/operator";
import {
  createProgramMetrics,
  type ProgramContext,
  parseWebhookGates,
  runWebhook,
  serveProgram,
  UsageError,
} from "#app";
import { createClient } from "#kube";
import { systemClock } from "#lib/clock";
import { createLogger } from "#lib/log";
import type { WebhookFlags } from "../commands/webhook.ts";
import { programConnection } from "../connection.ts";
import { logLevel } from "../options.ts";
import { processContext } from "../program-context.ts";

export async function runWebhookProgram(
  program: WebhookProgram,
  flags: WebhookFlags,
  context: ProgramContext = processContext(),
): Promise<void> {
  const { webhookAddress, certificateDir, healthAddress, metricsAddress, manifestLimit } = flags;
  const { signal, write } = context;
  const gates = parseWebhookGates(program, flags.featureGates);
  const service = flags.service === undefined ? undefined : placeOf(flags.service);
  const metrics = metricsAddress && createProgramMetrics({ clock: systemClock });
  const connection = await programConnection(flags, context);
  const client = createClient({ connection, ...(metrics && { metrics: metrics.client }) });
  const log = createLogger({ level: logLevel(), format: "human", clock: systemClock, write });
  // Until somebody connects nothing but the clock's timers may be left, and they keep no process alive.
  const awake = setInterval(() => {}, 2 ** 30);
  const shown: Awaited<ReturnType<typeof serveProgram>>[] = [];
  try {
    for (const [what, where] of [
      ["health", healthAddress],
      ["health and metrics", metricsAddress],
    ] as const) {
      if (!where) continue;
      const registry = where === metricsAddress ? metrics?.registry : undefined;
      const onListening = (url: string) => write(`${what} at ${url}`);
      shown.push(await serveProgram({ ...where, ...(registry && { registry }), onListening }));
    }
    await runWebhook({
      program,
      client,
      gates,
      ...(manifestLimit !== undefined && { manifestLimit }),
      address: webhookAddress,
      certificates: context.resolve(certificateDir),
      ...(service && { service }),
      onListening: (port) => write(`${program} webhook listens on port ${port}`),
      onReady: () => {
        for (const endpoints of shown) endpoints.ready();
        context.ready();
      },
      clock: systemClock,
      log,
      signal,
    });
  } finally {
    clearInterval(awake);
    for (const endpoints of shown) await endpoints.close();
    client.close();
  }
}

function placeOf(text: string): { namespace: string; name: string } {
  const [namespace = "", name = "", ...more] = text.split("/");
  if (namespace !== "" && name !== "" && more.length === 0) return { namespace, name };
  throw new UsageError(`--service ${JSON.stringify(text)} must be NAMESPACE/NAME`);
}
