/** Who is who in a StatefulSet: Pods have names that count, and keep their claims to volumes. */
import type { StatefulSet } from "#api/apps";
import type { Pod, PodTemplateSpec } from "#api/core";
import type { DynamicObject } from "#api/meta";
import type { NamelessObject } from "../../system.ts";
import { podFrom } from "../pods.ts";
import type { Stored } from "../stored.ts";

export const StatefulLabel = {
  podName: "statefulset.kubernetes.io/pod-name",
  podIndex: "apps.kubernetes.io/pod-index",
  /** The name of the revision that a Pod was made from. */
  revision: "controller-revision-hash",
} as const;

export type Stateful = Stored<StatefulSet>;

export function podName({ metadata }: StatefulSet, ordinal: number): string {
  return `${metadata.name}-${ordinal}`;
}

/** The number in the name of one of the set's Pods; undefined for a Pod that cannot be one of them. */
export function ordinalOf(set: StatefulSet, { metadata: { name } }: Pick<Pod, "metadata">): number | undefined {
  const ordinal = Number(/-(\d{1,10})$/.exec(name)?.[1]);
  return name === podName(set, ordinal) ? ordinal : undefined;
}

/** The ordinals that the set wishes for: from the first, so many. */
export function ordinalsOf({ spec }: StatefulSet): number[] {
  return Array.from({ length: spec.replicas ?? 1 }, (_, index) => index + firstOrdinal({ spec }));
}

export function firstOrdinal({ spec }: Pick<StatefulSet, "spec">): number {
  return spec.ordinals?.start ?? 0;
}

export function isWished({ spec }: Pick<StatefulSet, "spec">, ordinal: number): boolean {
  const index = ordinal - firstOrdinal({ spec });
  return index >= 0 && index < (spec.replicas ?? 1);
}

/** The name of the claim that a Pod has through one of the set's templates. */
export function claimName(set: StatefulSet, template: DynamicObject, ordinal: number): string {
  return `${template.metadata.name}-${podName(set, ordinal)}`;
}

export function identityLabels(set: StatefulSet, ordinal: number): Record<string, string> {
  return { [StatefulLabel.podName]: podName(set, ordinal), [StatefulLabel.podIndex]: String(ordinal) };
}

/** The Pod of an ordinal, made from the template of a revision. */
export function podOf(set: Stateful, ordinal: number, template: PodTemplateSpec, revision: string): NamelessObject {
  const name = podName(set, ordinal);
  const { serviceName, volumeClaimTemplates = [] } = set.spec;
  const claimed = volumeClaimTemplates.map((claim) => ({
    name: claim.metadata.name,
    persistentVolumeClaim: { claimName: claimName(set, claim, ordinal) },
  }));
  const others = (template.spec.volumes ?? []).filter((volume) => !claimed.some((claim) => claim.name === volume.name));
  const volumes = [...claimed, ...others];
  const spec = {
    ...template.spec,
    hostname: name,
    ...(serviceName !== undefined && { subdomain: serviceName }),
    ...(volumes.length > 0 && { volumes }),
  };
  const labels = { ...identityLabels(set, ordinal), [StatefulLabel.revision]: revision };
  return podFrom(set, { ...template, spec }, { name, labels });
}

export function revisionOf({ metadata }: Pick<Pod, "metadata">): string | undefined {
  return metadata.labels?.[StatefulLabel.revision];
}
