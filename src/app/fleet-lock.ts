/** One fleet, one process: who has it, and what to say to the next one. */
import { DirectoryInUse, lockDirectory } from "#apiserver";
import type { FleetDirectory } from "./fleet-directory.ts";
import { UserError } from "./user-error.ts";

/** Takes the fleet for this process; the answer lets it go. */
export async function lockFleet({ path }: FleetDirectory): Promise<() => Promise<void>> {
  try {
    return await lockDirectory(path);
  } catch (error) {
    if (!(error instanceof DirectoryInUse)) throw error;
    throw new UserError(
      `the fleet in ${path} is running already (pid ${error.pid}); stop it with \`capstan down --dir ${path}\``,
    );
  }
}
