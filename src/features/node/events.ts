/** What a node and the scheduler tell people: Events about Pods and Nodes, the same one counted and not written again. */
import { randomBytes } from "node:crypto";
import { Event } from "#api/core";
import { type KubeObject, keyOf } from "#api/meta";
import { type Client, isNotFound } from "#kube";
import { type Clock, timestamp } from "#lib/clock";
import type { Logger } from "#lib/log";

export interface Telling {
  readonly type?: "Normal" | "Warning";
  /** One word in CamelCase that programs may look for. */
  readonly reason: string;
  readonly message: string;
  /** The part of the object that it is about: `spec.containers{web}`. */
  readonly fieldPath?: string;
}

export interface EventTeller {
  /** Never fails and is never waited for: an Event is a courtesy. */
  tell(about: KubeObject, telling: Telling): void;
}

/** How many Events are remembered for counting. */
const REMEMBERED = 500;
/** An Event is called after its subject, with sixteen digits behind a dot, and no name is longer than 253. */
const MOMENT_DIGITS = 16;
const LONGEST_SUBJECT = 253 - MOMENT_DIGITS - 1;

/** `component` is who says so, as on a real cluster: `kubelet`, `default-scheduler`. */
export function eventTeller(options: {
  component: string;
  host?: string;
  client: Client;
  clock: Clock;
  log: Logger;
}): EventTeller {
  const { component, host, client, clock, log } = options;
  const known = new Map<string, { key: string; count: number }>();

  async function record(about: KubeObject, { type = "Normal", reason, message, fieldPath }: Telling): Promise<void> {
    const { namespace = "default", name, uid, resourceVersion } = about.metadata;
    const now = clock.now();
    const sameness = [namespace, uid, type, reason, message, fieldPath].join("\n");
    const before = known.get(sameness);
    if (before && (await counted(before, timestamp(now)))) return;
    // The moment in the name keeps apart what happens twice; chance, what happens at once.
    const moment = `${now.getTime().toString(16)}${randomBytes(3).toString("hex")}`.slice(0, MOMENT_DIGITS);
    const created = await client.create(Event, {
      metadata: { name: `${name.slice(0, LONGEST_SUBJECT)}.${moment}`, namespace },
      involvedObject: {
        apiVersion: about.apiVersion,
        kind: about.kind,
        name,
        ...(about.metadata.namespace !== undefined && { namespace }),
        ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
        ...(fieldPath !== undefined && { fieldPath }),
      },
      type,
      reason,
      message,
      source: { component, ...(host !== undefined && { host }) },
      reportingComponent: component,
      reportingInstance: host ?? component,
      count: 1,
      firstTimestamp: timestamp(now),
      lastTimestamp: timestamp(now),
    });
    if (known.size >= REMEMBERED) known.clear();
    known.set(sameness, { key: keyOf(created), count: 1 });
  }

  /** Whether the Event was still there to be counted. */
  async function counted(before: { key: string; count: number }, lastTimestamp: string): Promise<boolean> {
    before.count++;
    try {
      await client.patch(Event, before.key, { count: before.count, lastTimestamp });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  return {
    tell(about, telling) {
      record(about, telling).catch((error: unknown) => {
        log.debug("an Event was not written", { reason: telling.reason, name: about.metadata.name, error });
      });
    },
  };
}
