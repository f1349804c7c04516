import { sharedAbort } from "./abort.ts";
import type { Fleet } from "./fleet/index.ts";
import type { Manager } from "./manager.ts";

/** The clusters stay until the controllers have ended: what is being done on them may be finished. */
export async function runTogether(
  manager: Pick<Manager, "run">,
  fleet: Pick<Fleet, "run"> | undefined,
  signal: AbortSignal,
): Promise<void> {
  const [stop, leave] = [sharedAbort(), sharedAbort()];
  const follow = () => stop.abort(signal.reason);
  if (signal.aborted) follow();
  signal.addEventListener("abort", follow, { once: true });
  const failures: unknown[] = [];
  const fail = (error: unknown) => {
    failures.push(error);
    stop.abort();
  };
  const members = fleet?.run(leave.signal).catch(fail);
  await manager.run(stop.signal).catch(fail);
  leave.abort();
  await members;
  signal.removeEventListener("abort", follow);
  if (failures.length > 0) throw failures[0];
}
