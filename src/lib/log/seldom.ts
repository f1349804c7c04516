import type { Clock } from "#lib/clock";
import { errorText } from "./error-text.ts";
import type { Fields, Logger } from "./logger.ts";

export interface SeldomOptions {
  readonly clock: Clock;
  /** Milliseconds after which the same is said again. */
  readonly pause: number;
  /** Fields that differ from one time to the next though the same is meant. */
  readonly ignoring: readonly string[];
}

/** So many different lines are remembered; then those that may be said again are forgotten. */
const REMEMBERED = 500;

/**
 * Says a warning or an error once, and again only after a while: for programs that try again for as long as it takes,
 * and would otherwise say so every time. Whatever differs is said at once.
 */
export function seldomLog(log: Logger, { clock, pause, ignoring }: SeldomOptions): Logger {
  const saidAt = new Map<string, number>();
  const ignored = new Set(ignoring);

  const isDue = (line: string): boolean => {
    const now = clock.now().getTime();
    const last = saidAt.get(line);
    if (last !== undefined && now < last + pause) return false;
    if (saidAt.size >= REMEMBERED) {
      for (const [old, at] of saidAt) if (now >= at + pause) saidAt.delete(old);
      if (saidAt.size >= REMEMBERED) saidAt.clear();
    }
    saidAt.set(line, now);
    return true;
  };
  const pairs = (fields: Fields) =>
    Object.entries(fields)
      .filter(([key]) => !ignored.has(key))
      .map(([key, value]) => `${key}=${errorText(value)}`);

  const logger = (inner: Logger, bound: Fields): Logger => {
    const grave =
      (level: "warn" | "error") =>
      (message: string, fields: Fields = {}) => {
        if (isDue([level, message, ...pairs(bound), ...pairs(fields)].join(" "))) inner[level](message, fields);
      };
    return {
      debug: (message, fields) => inner.debug(message, fields),
      info: (message, fields) => inner.info(message, fields),
      warn: grave("warn"),
      error: grave("error"),
      with: (fields) => logger(inner.with(fields), { ...bound, ...fields }),
    };
  };
  return logger(log, {});
}
