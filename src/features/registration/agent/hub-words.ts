/** What stands between an agent and its hub, in words that a person can act on. */
import { rejoinCommand } from "#api/operator";
import {
  isForbidden,
  isNetworkError,
  isNotFound,
  isTimeout,
  isUnauthorized,
  isUnknownKind,
  isUntrusted,
  type KubeError,
} from "#kube";
import { errorText } from "#lib/log";

/** With what the agent came to the hub. */
export type ShownAs = "bootstrap kubeconfig" | "certificate";

/** In which way the hub did not answer as it should; undefined where it answered, though it may not like us. */
export function hubTrouble(
  error: unknown,
  { server, shown, clusterName }: { server: string; shown: ShownAs; clusterName: string },
): string | undefined {
  const restore = `restore the cluster with \`${rejoinCommand(clusterName)}\``;
  if (isUnauthorized(error)) {
    return shown === "certificate"
      ? `the hub ${server} does not know the agent's certificate any more`
      : `the hub ${server} does not know the token in the bootstrap kubeconfig: it has ended, or is another hub's; ${restore}`;
  }
  if (isUntrusted(error)) {
    return `what answers at ${server} is not whom the ${shown === "certificate" ? "agent" : "bootstrap kubeconfig"} trusts (${causeIn(error)}): if the hub has a new authority, ${restore}`;
  }
  if (isNetworkError(error) || isTimeout(error)) {
    return `the hub ${server} cannot be reached: ${causeIn(error)}`;
  }
  if (isUnknownKind(error)) return `${server} is no hub: it does not know ManagedClusters; run \`capstan init\` there`;
  if (isForbidden(error) && shown === "bootstrap kubeconfig") {
    return `the hub ${server} does not let the bootstrap kubeconfig ask to join; ${restore}`;
  }
  if (isForbidden(error) || isNotFound(error)) return undefined;
  return `the hub ${server} answers as it should not: ${errorText(error)}`;
}

/** Without the words that say which call it was. */
function causeIn({ message }: KubeError): string {
  return message.replace(/^.*?cannot connect: /s, "");
}
