/** The group `events.k8s.io/v1`: what a controller tells people about an object. */
import type { ObjectReference } from "#api/core";
import { type KubeObject, kind } from "#api/meta";

export interface Event extends KubeObject {
  /** MicroTime. */
  eventTime: string;
  reportingController: string;
  reportingInstance: string;
  action: string;
  reason: string;
  type: "Normal" | "Warning";
  regarding?: ObjectReference;
  related?: ObjectReference;
  note?: string;
  series?: { count: number; lastObservedTime: string };
}
export const Event = kind<Event>({
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  namespaced: true,
});
