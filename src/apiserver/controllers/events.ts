/** What the server's controllers tell people: Events, the same one counted and not written again. */
import { randomBytes } from "node:crypto";
import type { DynamicObject } from "#api/meta";
import { type Clock, timestamp } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { Store } from "../store/index.ts";
import type { SystemWriter } from "./system.ts";

const EVENTS = "core/events";

/** An Event is called after its subject, with sixteen digits behind a dot, and no name is longer than 253. */
const LONGEST_SUBJECT = 236;

export interface Telling {
  readonly type?: "Normal" | "Warning";
  /** One word in CamelCase that programs may look for. */
  readonly reason: string;
  readonly message: string;
}

export interface EventTeller {
  /** Never fails and is never waited for: an Event is a courtesy. */
  tell(about: DynamicObject, telling: Telling): void;
}

/** `component` is who says so, as on a real cluster: `deployment-controller`. */
export function eventTeller(options: {
  component: string;
  store: Store;
  writer: SystemWriter;
  clock: Clock;
  log: Logger;
}): EventTeller {
  const { component, store, writer, clock, log } = options;
  const known = new Map<string, string>();

  const record = async (about: DynamicObject, { type = "Normal", reason, message }: Telling): Promise<void> => {
    const { namespace = "default", name, uid, resourceVersion } = about.metadata;
    const now = timestamp(clock.now());
    const sameness = [namespace, uid, type, reason, message].join("\n");
    const before = known.get(sameness);
    if (before && store.get(EVENTS, before)) {
      await writer.change(EVENTS, before, (draft) => ({
        ...draft,
        count: Number(draft.count ?? 1) + 1,
        lastTimestamp: now,
      }));
      return;
    }
    const created = await writer.create(EVENTS, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace, name: `${name.slice(0, LONGEST_SUBJECT)}.${randomBytes(8).toString("hex")}` },
      involvedObject: {
        apiVersion: about.apiVersion,
        kind: about.kind,
        ...(about.metadata.namespace !== undefined && { namespace }),
        name,
        uid,
        resourceVersion,
      },
      type,
      reason,
      message,
      source: { component },
      reportingComponent: component,
      count: 1,
      firstTimestamp: now,
      lastTimestamp: now,
    });
    if (known.size >= REMEMBERED) known.clear();
    known.set(sameness, `${namespace}/${created.metadata.name}`);
  };

  return {
    tell(about, telling) {
      record(about, telling).catch((error: unknown) => {
        log.debug("an Event was not written", { reason: telling.reason, name: about.metadata.name, error });
      });
    },
  };
}

/** How many Events are remembered for counting. */
const REMEMBERED = 1000;
