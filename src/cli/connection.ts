/** How a program reaches its cluster: as a kubeconfig says, or as the service account of the Pod that it runs in. */
import { readFile } from "node:fs/promises";
import type { ProgramContext } from "#app";
import { UsageError } from "#app/programs";
import { type Connection, connectionOf, createExecEngine, inClusterConnection, loadKubeconfig } from "#kube";

export interface ConnectionFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export async function programConnection(
  { kubeconfig, context: name }: ConnectionFlags,
  { env, resolve }: ProgramContext,
): Promise<Connection> {
  if (kubeconfig !== undefined) {
    // Whoever starts the program names the file, so the programs that it names are run.
    const exec = createExecEngine({ env, terminal: process.stdin.isTTY === true });
    return connectionOf(await loadKubeconfig({ path: resolve(kubeconfig) }), name, { exec });
  }
  const read = (path: string) => readFile(resolve(path), "utf8");
  const connection = await inClusterConnection({ env, read });
  if (connection) return connection;
  throw new UsageError("no cluster is named, and this is no Pod; give --kubeconfig");
}
