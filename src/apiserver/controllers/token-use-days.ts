/** Writes on Secrets with tokens the day of their latest use, so that forgotten ones can be found. */
import { type DynamicObject, keyOf } from "#api/meta";
import { type Clock, timestamp } from "#lib/clock";
import type { Logger } from "#lib/log";
import { TokenSecret } from "../auth/index.ts";
import type { SystemWriter } from "./system.ts";

export interface TokenUseDays {
  /** Notes that the token of this Secret was used now; the request does not wait for it. */
  record(secret: DynamicObject): void;
  /** Resolves when everything noted so far is written. */
  written(): Promise<void>;
}

export function tokenUseDays(options: {
  writer: Pick<SystemWriter, "change">;
  clock: Clock;
  log: Logger;
}): TokenUseDays {
  const { writer, clock, log } = options;
  const underWay = new Map<string, Promise<void>>();
  return {
    record(secret) {
      const day = timestamp(clock.now()).slice(0, "YYYY-MM-DD".length);
      const key = keyOf(secret);
      if (secret.metadata.labels?.[TokenSecret.lastUsed] === day || underWay.has(key)) return;
      const writing = writer
        .change("core/secrets", key, (draft) => usedOn(day, draft, secret))
        .catch((error) => log.warn("the use of a token was not written down", { key, error }))
        .finally(() => underWay.delete(key));
      underWay.set(key, writing);
    },
    async written() {
      await Promise.all(underWay.values());
    },
  };
}

/** A successor of the same name was not used. */
function usedOn(day: string, draft: DynamicObject, used: DynamicObject): DynamicObject {
  const { metadata } = draft;
  if (metadata.uid !== used.metadata.uid) return draft;
  return { ...draft, metadata: { ...metadata, labels: { ...metadata.labels, [TokenSecret.lastUsed]: day } } };
}
