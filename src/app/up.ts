/**
 * Composition root of `capstan up`. It acts as people would: the administrator of the hub makes it ready and gives out
 * a token, each spoke's agent asks with it, the administrator accepts.
 */
import { Fleet, type FleetOptions } from "./fleet.ts";
import { FleetDirectory } from "./fleet-directory.ts";
import { lockFleet } from "./fleet-lock.ts";
import { UserError } from "./user-error.ts";

export interface UpOptions extends FleetOptions {
  readonly dir: string;
  readonly fresh: boolean;
}

export interface RunningFleet {
  readonly directory: FleetDirectory;
  readonly clusters: readonly { readonly name: string; readonly url: string }[];
  /** Ends when the fleet has stopped. What fails before that is started again, as Pods are. */
  readonly stopped: Promise<void>;
}

/**
 * Returns when every cluster has joined, answers, and can be reached through its ClusterProfile. The fleet runs until
 * the signal.
 */
export async function up({ dir, fresh, ...options }: UpOptions): Promise<RunningFleet> {
  const directory = new FleetDirectory(dir);
  if (fresh) await directory.assertOwn();
  await directory.create();
  const unlock = await lockFleet(directory);
  const fleet = new Fleet(directory, options);
  const stop = async () => {
    await fleet.stop();
    await unlock();
  };
  try {
    await directory.removeReady();
    if (fresh) await directory.clear();
    await fleet.start();
  } catch (error) {
    await stop();
    if (options.signal.aborted) throw new UserError("stopped before the fleet was ready; `up` again goes on from here");
    throw error;
  }
  const stopped = fired(options.signal).then(stop);
  return { directory, clusters: fleet.clusters, stopped };
}

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
