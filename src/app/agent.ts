/** Composition root of a spoke's agent: it knows two API servers and dials both. */
import { runRegistrationAgent } from "#features/registration/agent";
import { type Client, connectionOf, createClient, type Kubeconfig, kubeconfigText, parseKubeconfig } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { connectedCluster } from "#runtime";

export interface AgentOptions {
  readonly clusterName: string;
  /** The spoke as this agent reaches it. */
  readonly spoke: Client;
  /** The spoke as others reach it: told to the hub. */
  readonly endpoint: { readonly url: string; readonly caBundle?: string };
  /** The hub, with a token that lets a cluster ask to join. */
  readonly bootstrap: Kubeconfig;
  readonly namespace?: string;
  /** Puts a token of the spoke with this ClusterRole on the hub, for those who reach clusters through the inventory. */
  readonly grantAccess?: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export async function runAgent(options: AgentOptions): Promise<void> {
  const { clusterName, spoke, endpoint, bootstrap, clock, log, signal, namespace, grantAccess } = options;
  await runRegistrationAgent({
    spoke: connectedCluster({ name: clusterName, client: spoke, clock, log }),
    clusterName,
    endpoints: [endpoint],
    bootstrapKubeconfig: kubeconfigText(bootstrap),
    async connectHub(text) {
      const connection = await connectionOf(parseKubeconfig(text, "the hub kubeconfig"));
      return connectedCluster({ name: "hub", client: createClient({ connection }), clock, log });
    },
    ...(namespace !== undefined && { namespace }),
    ...(grantAccess !== undefined && { grantAccess }),
    clock,
    log,
    signal,
  });
}
