/** Whether the programs of an installation run, and if not, why. */
import { Deployment } from "#api/apps";
import { Pod } from "#api/core";
import type { Client } from "#kube";
import { find, listed } from "../changes.ts";
import { broken, type Finding, ok, warning } from "./finding.ts";

/** A Deployment, if it is there, and the Pods that it has. */
export interface Workload {
  /** `namespace/name` */
  readonly key: string;
  readonly deployment: Deployment | undefined;
  readonly pods: readonly Pod[];
}

export async function workloadOf(client: Client, key: string): Promise<Workload> {
  const deployment = await find(client, Deployment, key);
  const labels = Object.entries(deployment?.spec.selector.matchLabels ?? {});
  const labelSelector = labels.map(([name, value]) => `${name}=${value}`).join(",");
  const [namespace = ""] = key.split("/");
  const pods = deployment && labelSelector !== "" ? await listed(client, Pod, { namespace, labelSelector }) : [];
  return { key, deployment, pods };
}

/** `reinstall` is the command that brings a missing one back. */
export function workloadFinding({ key, deployment, pods }: Workload, reinstall: string): Finding {
  const about = `Deployment ${key}`;
  const [namespace = "", name = ""] = key.split("/");
  if (!deployment) return broken(about, "it is not there", reinstall);
  const wished = deployment.spec.replicas ?? 1;
  const { availableReplicas: available = 0 } = deployment.status ?? {};
  if (wished === 0) return warning(about, "it is scaled to 0, so nothing runs");
  if (available >= wished) return ok(about, `${available} of ${wished} Pods are available`);
  const why = pods.map(podTrouble).find((trouble) => trouble !== undefined);
  const message = `${available} of ${wished} Pods are available: ${why?.words ?? noPodsWords(pods)}`;
  const mend = why?.isImage
    ? `kubectl describe pods -n ${namespace}`
    : why
      ? `kubectl logs -n ${namespace} deployment/${name}`
      : `kubectl describe deployment -n ${namespace} ${name}`;
  return available > 0 ? warning(about, message, mend) : broken(about, message, mend);
}

function noPodsWords(pods: readonly Pod[]): string {
  return pods.length === 0 ? "it has no Pods yet; does the cluster have a node?" : "they are starting";
}

interface Trouble {
  readonly words: string;
  readonly isImage: boolean;
}

function podTrouble({ metadata, status, spec }: Pod): Trouble | undefined {
  for (const { state, lastState, name } of status?.containerStatuses ?? []) {
    const waiting = state?.waiting;
    if (!waiting?.reason || waiting.reason === "ContainerCreating") continue;
    const isImage = /^(Err)?Image|^InvalidImage/.test(waiting.reason);
    const ended = lastState?.terminated;
    const last = ended ? `; it ended last with ${ended.exitCode}${ended.reason ? ` (${ended.reason})` : ""}` : "";
    const image = spec.containers.find((container) => container.name === name)?.image;
    const words = isImage
      ? `Pod ${metadata.name} cannot get its image ${image ?? ""} (${waiting.reason})`
      : `Pod ${metadata.name} waits: ${waiting.reason}${waiting.message ? `, ${waiting.message}` : ""}${last}`;
    return { words, isImage };
  }
  const scheduled = (status?.conditions ?? []).find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False") {
    return {
      words: `Pod ${metadata.name} found no node: ${scheduled.message ?? scheduled.reason ?? ""}`,
      isImage: true,
    };
  }
  return undefined;
}
