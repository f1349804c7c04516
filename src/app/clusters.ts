/** Adding and removing clusters of a folder, whether somebody runs in it or not. */
import { holderOfDirectory } from "#apiserver";
import { loadKubeconfig } from "#kube";
import { type ApiServerOptions, forgetCluster, startApiServer } from "./apiserver.ts";
import { giveOrder } from "./control.ts";
import { FleetDirectory } from "./fleet-directory.ts";
import { lockFleet } from "./fleet-lock.ts";
import { UserError } from "./user-error.ts";

/** Returns whether the cluster serves now; otherwise it will with the next start. `port` is the first to try for it. */
export async function addCluster(
  name: string,
  options: Omit<ApiServerOptions, "clusters" | "nodes">,
  port?: number,
): Promise<boolean> {
  const { directory } = options;
  if ((await holderOfDirectory(directory.path)) !== undefined) {
    await giveOrder(directory, { add: name, ...(port !== undefined && { port }) });
    return true;
  }
  if ((await directory.clusters()).includes(name)) {
    throw new UserError(`there is a cluster ${name} in ${directory.path} already; choose another name`);
  }
  await directory.create();
  const unlock = await lockFleet(directory);
  try {
    const server = await startApiServer({
      ...options,
      ...(port !== undefined && { firstPort: port }),
      clusters: [name],
      nodes: 0,
    });
    await server.close();
  } finally {
    await unlock();
  }
  return false;
}

export async function removeCluster(name: string, dir: string): Promise<void> {
  const directory = new FleetDirectory(dir);
  if ((await holderOfDirectory(directory.path)) !== undefined) return giveOrder(directory, { remove: name });
  const known = await directory.clusters();
  if (!known.includes(name)) {
    throw new UserError(`there is no cluster ${name} in ${directory.path}; it has: ${known.join(", ") || "none"}`);
  }
  const unlock = await lockFleet(directory);
  try {
    await forgetCluster(directory, name);
    const others = known.filter((other) => other !== name);
    const kubeconfigs = others.map(
      async (other) => [other, await loadKubeconfig({ path: directory.kubeconfigOf(other) })] as const,
    );
    await directory.writeKubeconfigs(new Map(await Promise.all(kubeconfigs)));
  } finally {
    await unlock();
  }
}
