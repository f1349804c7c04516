/** When that happened which a change behind a Service is the answer to. */
import { type Pod, PodConditionType, type Service } from "#api/core";
import { keyOf } from "#api/meta";
import { findCondition } from "#lib/conditions";

interface Seen {
  readonly service: string;
  readonly pods: ReadonlyMap<string, string>;
}

export interface TriggerTimes {
  /**
   * The earliest time that is newer than at the last look: of a Service its creation, of a Pod when it became
   * ready or ceased to be. Undefined when nothing tells a time.
   */
  look(service: Service, pods: readonly Pod[]): string | undefined;
  forget(key: string): void;
}

export function triggerTimes(): TriggerTimes {
  const known = new Map<string, Seen>();
  return {
    look(service, pods) {
      const before = known.get(keyOf(service));
      const { creationTimestamp = "" } = service.metadata;
      const times = new Map(pods.map((pod) => [pod.metadata.name, turnedAt(pod)]));
      known.set(keyOf(service), { service: creationTimestamp, pods: times });
      if (!before) return creationTimestamp;

      const newer = [...times].filter(([name, at]) => at > (before.pods.get(name) ?? "")).map(([, at]) => at);
      if (creationTimestamp > before.service) newer.push(creationTimestamp);
      return newer.sort()[0];
    },
    forget: (key) => void known.delete(key),
  };
}

/** Times in whole seconds and UTC are in order when their texts are. */
function turnedAt({ status }: Pod): string {
  return findCondition(status?.conditions, PodConditionType.ready)?.lastTransitionTime ?? "";
}
