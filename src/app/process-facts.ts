/** What Node and the system know of this process. The API server knows it too, but is too large to be loaded for that. */
import { readdirSync } from "node:fs";
import type { ProcessFacts } from "#lib/metrics";

export const processFacts: ProcessFacts = {
  startTimeSeconds: Date.now() / 1000 - process.uptime(),
  cpuSeconds() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  },
  residentBytes: () => process.memoryUsage.rss(),
  openFiles() {
    try {
      return readdirSync("/proc/self/fd").length;
    } catch {
      return undefined; // there is no such directory outside of Linux
    }
  },
};
