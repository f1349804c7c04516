/** Which cluster a command means. */
import { homedir } from "node:os";
import { FleetDirectory, type SpokeWays, UserError } from "#app";
import {
  type Client,
  type Connection,
  connectionOf,
  createClient,
  createExecEngine,
  type ExecEngine,
  type Kubeconfig,
  loadKubeconfig,
} from "#kube";
import { ENTRY } from "./entry.ts";
import { defaultDirectory } from "./options.ts";
import type { TargetFlags } from "./target-options.ts";
import { say } from "./terminal.ts";

/** `--kubeconfig` and `--context`, else the fleet in `--dir`, else what kubectl would use, else the default fleet. */
export async function connect(flags: TargetFlags): Promise<Client> {
  return createClient({ connection: await targetOf(flags) });
}

/** How the cluster is reached that the flags mean. */
export async function targetOf(flags: TargetFlags): Promise<Connection> {
  return (await targetAndFleetOf(flags)).connection;
}

export interface Target {
  readonly connection: Connection;
  /** If the cluster was chosen because it is one of a fleet on this machine. */
  readonly fleet: FleetDirectory | undefined;
  /** What it was chosen from. */
  readonly config: Kubeconfig;
}

export async function targetAndFleetOf(flags: TargetFlags): Promise<Target> {
  const { config, fleet } = await kubeconfigFor(flags);
  return { connection: await connectionOf(config, flags.context, { exec: usersPrograms() }), fleet, config };
}

/** The kubeconfig is the user's own, so the programs that it names are run, and may ask who sits at the terminal. */
function usersPrograms(): ExecEngine {
  return createExecEngine({ env: process.env, terminal: process.stdin.isTTY === true });
}

/** How the clusters of a hub are reached: through its inventory, or by another context of the same kubeconfig. */
export function waysToSpokes({ fleet, config }: Target, providerFile: string | undefined): SpokeWays {
  const file = providerFile ?? fleet?.providerFile;
  return {
    ...(file !== undefined && { providerFile: file }),
    ...(fleet && { own: { commands: [[process.execPath, ENTRY]], kubeconfigs: [fleet.kubeconfigOf("hub")] } }),
    async connectionTo(servers) {
      const known = new Set(servers.map(withoutSlash));
      const clusters = config.clusters.filter(({ server }) => server !== undefined && known.has(withoutSlash(server)));
      const context = config.contexts.find(({ cluster }) => clusters.some(({ name }) => name === cluster));
      return context && connectionOf(config, context.name, { exec: usersPrograms() });
    },
  };
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}

interface Chosen {
  readonly config: Kubeconfig;
  readonly fleet: FleetDirectory | undefined;
}

async function kubeconfigFor({ kubeconfig, dir }: TargetFlags): Promise<Chosen> {
  const env = process.env.KUBECONFIG;
  if (kubeconfig !== undefined) return { config: await loadKubeconfig({ path: kubeconfig }), fleet: undefined };
  if (dir !== undefined) return fleetKubeconfig(new FleetDirectory(dir));
  const usual = await loadKubeconfig({ home: homedir(), ...(env !== undefined && { variable: env }) }).catch(
    (error: unknown) => {
      if (env) throw error;
      return undefined;
    },
  );
  if (usual && usual.contexts.length > 0) return { config: usual, fleet: undefined };
  const fleet = new FleetDirectory(defaultDirectory());
  if (await fleet.readReady()) {
    say(`Using the fleet in ${fleet.path}, because there is no kubeconfig.`);
    return fleetKubeconfig(fleet);
  }
  throw new UserError(
    "there is no kubeconfig and no fleet runs here; name a cluster with --kubeconfig or --dir, or start a fleet with `capstan up`",
  );
}

async function fleetKubeconfig(fleet: FleetDirectory): Promise<Chosen> {
  if (!(await fleet.isFleet()))
    throw new UserError(`there is no fleet in ${fleet.path}; start one with \`capstan up --dir ${fleet.path}\``);
  return { config: await loadKubeconfig({ path: fleet.kubeconfig }), fleet };
}
