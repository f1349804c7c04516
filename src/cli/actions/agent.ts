/** Runs the agent of a spoke for `capstan agent`, or one half of it, in the foreground. */
import { readFile } from "node:fs/promises";
import { AGENT_NAMESPACE } from "#api/operator";
import {
  bootstrapFile,
  createProgramMetrics,
  type ProgramContext,
  type ProgramMetrics,
  parseSpokeGates,
  type RegistrationOptions,
  runAgent,
  runRegistration,
  runWork,
  type SpokeGates,
  serveProgram,
  UserError,
  type WorkWishes,
  wayInFile,
  whileLeading,
} from "#app/programs";
import { type Client, type Connection, createClient, inClusterConnection } from "#kube";
import { systemClock } from "#lib/clock";
import { createLogger, type Logger } from "#lib/log";
import { answers } from "../answers.ts";
import type { RegistrationFlags, WorkFlags } from "../commands/agent.ts";
import { programConnection } from "../connection.ts";
import { logLevel } from "../options.ts";
import { processContext } from "../program-context.ts";

export async function runAgentProgram(flags: RegistrationFlags, context = processContext()): Promise<void> {
  const gates = parseSpokeGates("agent", flags.featureGates);
  await runProgram("agent", flags, context, (stage) =>
    runAgent({ ...registrationOptions(flags, gates, stage), ...workWishes(flags, gates) }),
  );
}

export async function runRegistrationProgram(flags: RegistrationFlags, context = processContext()): Promise<void> {
  const gates = parseSpokeGates("registration", flags.featureGates);
  await runProgram("registration-agent", flags, context, (stage) =>
    runRegistration(registrationOptions(flags, gates, stage)),
  );
}

export async function runWorkProgram(flags: WorkFlags, context = processContext()): Promise<void> {
  const gates = parseSpokeGates("work", flags.featureGates);
  await runProgram("work-agent", flags, context, async (stage) => {
    const { spoke, metrics, log, signal } = stage;
    const { clusterName, agentId, hubKubeconfig } = flags;
    const named = clusterName !== undefined && { clusterName };
    stage.started();
    await runWork({
      spoke,
      ...named,
      ...(agentId !== undefined && { agentId }),
      ...workWishes(flags, gates),
      hub: wayInFile(context.resolve(hubKubeconfig), { ...named, clock: systemClock, log }),
      ...(metrics && { metrics }),
      clock: systemClock,
      log,
      signal,
    });
  });
}

/** What a program of the agent stands on. */
interface Stage {
  readonly context: ProgramContext;
  readonly connection: Connection;
  readonly spoke: Client;
  /** Where the agent is at home: its identity, and its Lease if there are several. */
  readonly home: Client;
  readonly namespace: string;
  readonly metrics: ProgramMetrics | undefined;
  readonly log: Logger;
  /** Fires when it is to stop, or does not lead any more. */
  readonly signal: AbortSignal;
  /** Says that it runs. */
  readonly started: () => void;
}

type Flags = Pick<
  RegistrationFlags,
  "spokeKubeconfig" | "metricsAddress" | "hosted" | "namespace" | "leaderElect" | "agentId"
>;

async function runProgram(
  name: string,
  flags: Flags,
  context: ProgramContext,
  run: (stage: Stage) => Promise<void>,
): Promise<void> {
  const { spokeKubeconfig, metricsAddress, hosted } = flags;
  const { signal, write } = context;
  const metrics = metricsAddress && createProgramMetrics({ clock: systemClock });
  const clients: Client[] = [];
  const connect = (connection: Connection) => {
    const client = createClient({ connection, ...(metrics && { metrics: metrics.client }) });
    clients.push(client);
    return client;
  };
  const log = createLogger({ level: logLevel(), format: "human", clock: systemClock, write });
  // While a server cannot be reached nothing but the clock's timers may be left, and they keep no process alive.
  const awake = setInterval(() => {}, 2 ** 30);
  const shown =
    metricsAddress &&
    (await serveProgram({
      ...metricsAddress,
      ...(metrics && { registry: metrics.registry }),
      onListening: (url) => write(`health and metrics at ${url}`),
    }));
  try {
    const named = spokeKubeconfig === undefined ? {} : { kubeconfig: spokeKubeconfig };
    const connection = await programConnection(named, context);
    const own = hosted ? await ownCluster(context) : connection;
    const spoke = connect(connection);
    if (!(await answers(spoke, signal))) return;
    const started = () => {
      shown?.ready();
      context.ready();
    };
    const home = own === connection ? spoke : connect(own);
    const stage = { context, connection, spoke, home, namespace: namespaceOf(flags, own), metrics, log, started };
    if (!flags.leaderElect) return await run({ ...stage, signal });
    started(); // whoever stands by is as well as whoever works
    const identity = context.env.POD_NAME;
    const lease = { namespace: stage.namespace, name: `${name}-lock`, ...(identity !== undefined && { identity }) };
    await whileLeading({ client: home, lease, clock: systemClock, log, signal }, (leading) =>
      run({ ...stage, signal: leading }),
    );
  } finally {
    clearInterval(awake);
    await shown?.close();
    for (const client of clients) client.close();
  }
}

/** What is said of the half that works. */
function workWishes(
  { appliedmanifestworkEvictionGracePeriod: evictionGrace }: Pick<WorkFlags, "appliedmanifestworkEvictionGracePeriod">,
  { ExecutorValidatingCaches: remembersRights, RawFeedbackJsonString: raw }: SpokeGates,
): WorkWishes {
  return { ...(evictionGrace !== undefined && { evictionGrace }), remembersRights, feedback: { raw } };
}

function registrationOptions(flags: RegistrationFlags, gates: SpokeGates, stage: Stage): RegistrationOptions {
  const { context, connection, spoke, home, namespace, metrics, log, signal, started } = stage;
  const { clusterName, agentId, grantAccess, spokeNamespace, clusterAnnotations } = flags;
  const { ClusterClaim: claims, ClusterProperty: properties } = gates;
  return {
    spoke,
    home,
    namespace,
    ...(clusterName !== undefined && { clusterName }),
    ...(agentId !== undefined && { agentId }),
    ...(spokeNamespace !== undefined && { spokeNamespace }),
    ...(grantAccess !== undefined && { grantAccess }),
    ...(clusterAnnotations && { clusterAnnotations }),
    ...(flags.clientCertExpirationSeconds && { certificateSeconds: flags.clientCertExpirationSeconds }),
    endpoints: endpointsOf(flags, connection),
    bootstrap: bootstrapFile(context.resolve(flags.bootstrapKubeconfig), { clock: systemClock, log }),
    claims: {
      claims,
      properties,
      ...(flags.maxCustomClusterClaims !== undefined && { most: flags.maxCustomClusterClaims }),
      ...(flags.reservedClusterClaimSuffixes && { reservedSuffixes: flags.reservedClusterClaimSuffixes }),
    },
    onStart: started,
    ...(metrics && { metrics }),
    clock: systemClock,
    log,
    signal,
  };
}

/** The namespace of a context is where a person works; only that of a Pod is where an agent is at home. */
function namespaceOf({ namespace, hosted, spokeKubeconfig }: Flags, own: Connection): string {
  const isPod = hosted === true || spokeKubeconfig === undefined;
  return namespace ?? (isPod ? own.namespace : undefined) ?? AGENT_NAMESPACE;
}

/** The cluster of the Pod, for an agent whose spoke is another one. */
async function ownCluster({ env, resolve }: ProgramContext): Promise<Connection> {
  const read = (path: string) => readFile(resolve(path), "utf8");
  const own = await inClusterConnection({ env, read });
  if (own) return own;
  throw new UserError(
    "--hosted means the cluster of the Pod that the agent runs in, and this is no Pod; leave it away",
  );
}

/** Where others reach the spoke; where the agent itself does unless told, if it is no Pod of a cluster. */
function endpointsOf(
  { spokeExternalServerUrls: urls, spokeKubeconfig, hosted }: RegistrationFlags,
  { server, ca }: Connection,
) {
  const isOutside = spokeKubeconfig !== undefined && !hosted;
  const caBundle = ca === undefined ? {} : { caBundle: Buffer.from(ca).toString("base64") };
  return (urls ?? (isOutside ? [server] : [])).map((url) => ({ url, ...caBundle }));
}
