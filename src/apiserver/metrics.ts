/** What a cluster tells about itself beside its requests: how much it holds, and what its process uses. */
import { readdirSync } from "node:fs";
import { type ProcessFacts, type Registry, registerProcessMetrics } from "#lib/metrics";
import type { Store } from "./store/index.ts";

export function registerClusterMetrics(registry: Registry, store: Pick<Store, "resources" | "list">): void {
  registry.computed({
    type: "gauge",
    name: "apiserver_storage_objects",
    help: "Number of stored objects split by kind.",
    labels: ["resource"],
    read: () =>
      store.resources().map((storage) => ({
        labels: { resource: resourceName(storage) },
        value: store.list(storage).items.length,
      })),
  });
  registerProcessMetrics(registry, processFacts);
}

/** `pods` or `deployments.apps`, as kube-apiserver writes it. */
function resourceName(storage: string): string {
  const [group = "", plural = ""] = storage.split("/");
  return group === "core" ? plural : `${plural}.${group}`;
}

/** What Node and the system know of this process. */
const processFacts: ProcessFacts = {
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
