/**
 * Programs that run in a group of their own do not hear the Ctrl-C that ends us, and would live on for as long as
 * they please. While there are any, our end is theirs.
 */
import type { ChildProcess } from "node:child_process";

const groups = new Set<number>();
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Ends the program with us; the answer lets go of it. */
export function endWithUs({ pid }: ChildProcess): () => void {
  if (pid === undefined) return () => {};
  if (groups.size === 0) listen();
  groups.add(pid);
  return () => {
    groups.delete(pid);
    if (groups.size === 0) stopListening();
  };
}

function listen(): void {
  process.on("exit", endAll);
  for (const signal of SIGNALS) process.on(signal, onSignal);
}

function stopListening(): void {
  process.off("exit", endAll);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

function onSignal(signal: NodeJS.Signals): void {
  // Whoever else listens decides whether the signal ends us; if it does, `exit` is on its way.
  if (process.listenerCount(signal) > 1) return;
  endAll();
  stopListening();
  process.kill(process.pid, signal); // listened to by nobody now, it does what it always does
}

function endAll(): void {
  for (const group of groups) {
    try {
      process.kill(-group, "SIGKILL");
    } catch {
      // It was faster.
    }
  }
  groups.clear();
}
