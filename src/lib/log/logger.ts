import type { Clock } from "#lib/clock";
import { humanLine, jsonLine } from "./lines.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFormat = "human" | "json";

/** What a line is about. `component` stands out in lines for people; an Error shows its causes, not its stack. */
export type Fields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** A logger that says these fields with every line. */
  with(fields: Fields): Logger;
}

/** A line before it is text. */
export interface Entry {
  readonly time: Date;
  readonly level: LogLevel;
  readonly message: string;
  /** The fields of the logger, and those of this line. */
  readonly bound: Fields;
  readonly fields: Fields;
}

const SEVERITY: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

/** A logger that turns what is at least as grave as `level` into lines and gives them to `write`. */
export function createLogger(options: {
  level: LogLevel;
  format: LogFormat;
  write: (line: string) => void;
  clock: Clock;
}): Logger {
  const { level: least, format, write, clock } = options;
  const toLine = format === "json" ? jsonLine : humanLine;

  function logger(bound: Fields): Logger {
    const at = (level: LogLevel) => {
      if (SEVERITY[level] < SEVERITY[least]) return () => {};
      return (message: string, fields: Fields = {}) =>
        write(toLine({ time: clock.now(), level, message, bound, fields }));
    };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      with: (fields) => logger({ ...bound, ...fields }),
    };
  }
  return logger({});
}

/** Says nothing. */
export const silentLog: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silentLog,
};
