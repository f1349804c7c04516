/** From a kubeconfig that somebody else wrote to a connection, or to the reason why it is not followed. */
import {
  type Connection,
  connectionOf,
  type ExecEngine,
  type Kubeconfig,
  type KubeconfigCluster,
  KubeconfigError,
  type KubeconfigUser,
} from "#kube";
import type { Clock } from "#lib/clock";
import { FleetReason, type Unreachable } from "../types.ts";

/** What a kubeconfig may ask for. Whoever writes it could otherwise run programs and read files of ours. */
export interface KubeconfigTrust {
  /** Runs the programs that it names. Without it they are refused. */
  readonly exec?: ExecEngine;
  /** Whether it may name files. */
  readonly files?: boolean;
  /** Whether it may ask for a server that is not checked, or for a connection that is not encrypted. */
  readonly insecure?: boolean;
}

export async function wayOf(
  config: Kubeconfig,
  context: string | undefined,
  { trust, clock }: { readonly trust: KubeconfigTrust; readonly clock: Clock },
): Promise<Connection | Unreachable> {
  const refusal = refusalOf(config, context ?? config.current, trust);
  if (refusal) return { reason: FleetReason.refused, message: refusal };
  try {
    return await connectionOf(config, context, { clock, ...(trust.exec && { exec: trust.exec }) });
  } catch (error) {
    return invalid(error);
  }
}

/** What a kubeconfig error means for a cluster; other errors go on. */
export function invalid(error: unknown): Unreachable {
  if (!(error instanceof KubeconfigError)) throw error;
  return { reason: FleetReason.invalid, message: error.message };
}

function refusalOf(config: Kubeconfig, name: string | undefined, trust: KubeconfigTrust): string | undefined {
  const context = config.contexts.find((each) => each.name === name);
  const cluster = config.clusters.find((each) => each.name === context?.cluster);
  const user = config.users.find((each) => each.name === context?.user);
  const where = config.files?.join(", ") || "the kubeconfig";
  if (user?.exec && !trust.exec) return `${where} names a program, which is not run: put in a token or a certificate`;
  if (!trust.files && namesFiles(cluster, user)) {
    return `${where} names files, which are not read: put their content in`;
  }
  if (!trust.insecure && isInsecure(cluster)) {
    return `${where} asks for a server that is not checked: put in https and a certificate authority`;
  }
  return undefined;
}

function namesFiles(cluster: KubeconfigCluster | undefined, user: KubeconfigUser | undefined): boolean {
  const materials = [cluster?.ca, user?.cert, user?.key];
  return user?.tokenFile !== undefined || materials.some((material) => material && "file" in material);
}

function isInsecure(cluster: KubeconfigCluster | undefined): boolean {
  return cluster?.insecure === true || (cluster?.server.toLowerCase().startsWith("http:") ?? false);
}
