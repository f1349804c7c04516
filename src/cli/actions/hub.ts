/** Runs a hub for `capstan hub`, in the foreground. */
import { resolve } from "node:path";
import { ManagedCluster } from "#api/cluster";
import { ClusterProfile } from "#api/inventory";
import { KnativeEventing, KnativeServing } from "#api/knative";
import type { Kind, KubeObject } from "#api/meta";
import type { ProgramContext } from "#app";
import { createProgramMetrics, knativeReleases, runHub, UserError } from "#app";
import { type Client, createClient, isUnknownKind } from "#kube";
import { systemClock } from "#lib/clock";
import { createLogger } from "#lib/log";
import { answers } from "../answers.ts";
import type { HubCommandFlags } from "../commands/hub.ts";
import { programConnection } from "../connection.ts";
import { ENTRY } from "../entry.ts";
import { logLevel } from "../options.ts";
import { processContext } from "../program-context.ts";
import { hubSettings } from "./hub-settings.ts";

export async function runHubProgram(flags: HubCommandFlags, context = processContext()): Promise<void> {
  const { signal, write } = context;
  const {
    releases: settings,
    providerFile,
    pollInterval,
    removalPatience,
    ...choice
  } = hubSettings(flags, context.env);
  const releases = await knativeReleases(settings);
  const metrics = choice.endpoints && createProgramMetrics({ clock: systemClock });
  const client = createClient({
    connection: await programConnection(flags, context),
    ...(metrics && { metrics: metrics.client }),
  });
  // While the server cannot be reached nothing but the clock's timers may be left, and they keep no process alive.
  const awake = setInterval(() => {}, 2 ** 30);
  try {
    if (!(await answers(client, signal))) return;
    await runHub({
      client,
      ...choice,
      ...(choice.endpoints && {
        endpoints: {
          ...choice.endpoints,
          onListening: (port) => write(`health and metrics at ${urlOf(choice.endpoints?.host, port)}`),
        },
      }),
      ...(metrics && { metrics }),
      onStart: () => void sayMissing(client, write),
      onReady: context.ready,
      ...(flags.webhooks && {
        webhooks: {
          ...(flags.webhookUrl !== undefined && { url: flags.webhookUrl }),
          ...(flags.webhookAddress && { address: flags.webhookAddress }),
        },
      }),
      knative: {
        ...(providerFile !== undefined && { providerFile: context.resolve(providerFile) }),
        // Another context than the current one may lead to another hub than the plugins mean.
        own: {
          commands: [[process.execPath, ENTRY]],
          kubeconfigs: flags.kubeconfig && flags.context === undefined ? [resolve(flags.kubeconfig)] : [],
        },
        releases: releases.source,
        fetchManifest: releases.fetchManifest,
        kubernetesMinVersion: context.env.KUBERNETES_MIN_VERSION,
        ...(pollInterval !== undefined && { pollInterval }),
        ...(removalPatience !== undefined && { removalPatience }),
      },
      clock: systemClock,
      log: createLogger({ level: logLevel(), format: "human", clock: systemClock, write }),
      signal,
    });
  } catch (error) {
    throw explained(error, flags);
  } finally {
    clearInterval(awake);
    client.close();
  }
}

/** Controllers wait for kinds that come later; whoever forgot them should not have to guess. */
async function sayMissing(client: Client, write: ProgramContext["write"]): Promise<void> {
  const kinds = [ManagedCluster, ClusterProfile, KnativeServing, KnativeEventing] as readonly Kind<KubeObject>[];
  const missing = await Promise.all(
    kinds.map(async (kind) => {
      const error = await client.list(kind, { limit: 1 }).then(
        () => undefined,
        (failure: unknown) => failure,
      );
      return isUnknownKind(error) ? [kind.kind] : [];
    }),
  );
  const names = missing.flat();
  if (names.length === 0) return;
  const remedy = names.some((name) => name.startsWith("Knative")) ? " (capstan knative definitions has Knative's)" : "";
  write(`${client.server} does not serve ${names.join(", ")}; controllers that need them wait${remedy}`);
}

function urlOf(host = "127.0.0.1", port = 0): string {
  return `http://${host.includes(":") ? `[${host}]` : host || "localhost"}:${port}`;
}

/** What the system says about an address. */
function explained(error: unknown, { metricsAddress }: HubCommandFlags): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (!metricsAddress || (syscall !== "listen" && syscall !== "getaddrinfo")) return error;
  const why = { EADDRINUSE: "it is taken", EACCES: "permission denied", ENOTFOUND: "no such host" }[code ?? ""] ?? code;
  const { host = "127.0.0.1", port } = metricsAddress;
  return new UserError(
    `cannot show metrics at ${host || "any address"} port ${port}: ${why}; choose another --metrics-address`,
  );
}
