/**
 * Some of upstream's programs listen at ports that nobody can choose, 8080 among them, so that only one of them can run
 * on a machine. Test files run side by side: whoever needs such a program waits for its turn.
 */
import { readFileSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";

const LOCK = join(tmpdir(), "capstan-fixed-ports.lock");
/** Others may have a long test to finish first. */
const PATIENCE_MS = 15 * 60_000;

/** Ends when nobody else has them; the answer lets the next one come. */
export async function turnAtFixedPorts(): Promise<() => Promise<void>> {
  await eventually(async () => {
    if (isForsaken()) await rm(LOCK, { force: true });
    const file = await open(LOCK, "wx");
    await file.writeFile(String(process.pid));
    await file.close();
  }, PATIENCE_MS);
  return () => rm(LOCK, { force: true });
}

/** Whether it was left behind by a test run that is over. */
function isForsaken(): boolean {
  try {
    const holder = Number(readFileSync(LOCK, "utf8"));
    if (!holder) return false; // it is being written
    process.kill(holder, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
