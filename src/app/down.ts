/** Stopping a fleet from outside. */
import { holderOfDirectory } from "#apiserver";
import { FleetDirectory } from "./fleet-directory.ts";
import { UserError } from "./user-error.ts";

/** After so long without an end the process is ended for good; its data is safe all the same. */
const PATIENCE_MS = 15_000;
const LOOK_EVERY_MS = 50;

/** Returns the pid that was stopped, or undefined when nothing ran. */
export async function down({ dir, purge }: { dir: string; purge: boolean }): Promise<number | undefined> {
  const directory = new FleetDirectory(dir);
  if (purge) await directory.assertOwn();
  const pid = await holderOfDirectory(directory.path);
  if (pid !== undefined) await end(pid, directory);
  if (purge) await directory.purge();
  return pid;
}

async function end(pid: number, directory: FleetDirectory): Promise<void> {
  send(pid, "SIGTERM");
  const deadline = Date.now() + PATIENCE_MS;
  while ((await holderOfDirectory(directory.path)) === pid) {
    if (Date.now() > deadline) {
      send(pid, "SIGKILL");
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  await directory.removeReady();
}

function send(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return; // it ended by itself
    throw new UserError(
      `cannot stop the fleet's process ${pid}: permission denied; stop it as the user who started it`,
    );
  }
}
