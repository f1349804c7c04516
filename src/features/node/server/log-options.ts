/** Which part of a log somebody asks for, as kubectl's flags say it. */
import { microTimestamp } from "#lib/clock";
import type { ContainerLog, LogLine } from "../kubelet/runner.ts";

export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** Only lines that are not older. */
  readonly since?: Date;
  /** Only so many of the lines that there are. */
  readonly tailLines?: number;
  readonly limitBytes?: number;
}

/** The wish cannot be understood. */
export class BadLogOptions extends Error {
  override readonly name = "BadLogOptions";
}

export function logOptions(query: URLSearchParams, now: Date): LogOptions {
  const sinceSeconds = wholeNumber(query, "sinceSeconds", 1);
  const sinceTime = query.get("sinceTime");
  if (sinceSeconds !== undefined && sinceTime !== null) {
    throw new BadLogOptions("at most one of `sinceTime` or `sinceSeconds` may be specified");
  }
  const since = sinceSeconds === undefined ? momentOf(sinceTime) : new Date(now.getTime() - sinceSeconds * 1000);
  const tailLines = wholeNumber(query, "tailLines", 0);
  const limitBytes = wholeNumber(query, "limitBytes", 1);
  return {
    follow: flag(query, "follow"),
    previous: flag(query, "previous"),
    timestamps: flag(query, "timestamps"),
    ...(since && { since }),
    ...(tailLines !== undefined && { tailLines }),
    ...(limitBytes !== undefined && { limitBytes }),
  };
}

function flag(query: URLSearchParams, name: string): boolean {
  return ["true", "1", ""].includes(query.get(name) ?? "false");
}

function wholeNumber(query: URLSearchParams, name: string, least: number): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new BadLogOptions(`${name} must be a whole number of at least ${least}`);
}

function momentOf(text: string | null): Date | undefined {
  if (!text) return undefined;
  const moment = new Date(text);
  if (Number.isNaN(moment.getTime())) throw new BadLogOptions("sinceTime must be a time such as 2026-01-31T12:00:00Z");
  return moment;
}

/** The text that was asked for, piece by piece, until the log or the signal ends it. */
export async function* logText(log: ContainerLog, options: LogOptions, signal: AbortSignal): AsyncGenerator<Buffer> {
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
  for await (const line of wantedLines(log, options, signal)) {
    const bytes = Buffer.from(shown(line, options));
    yield bytes.subarray(0, left);
    left -= bytes.length;
    if (left <= 0) return;
  }
}

async function* wantedLines(
  { written, follow }: ContainerLog,
  { since, tailLines, ...options }: LogOptions,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const recent = since ? written.filter(({ time }) => time >= since) : written;
  yield* tailLines === undefined ? recent : recent.slice(Math.max(0, recent.length - tailLines));
  if (options.follow) yield* follow(signal);
}

function shown({ time, text }: LogLine, { timestamps }: LogOptions): string {
  // Nine decimals, as container runtimes write them.
  return timestamps ? `${microTimestamp(time).slice(0, -1)}000Z ${text}\n` : `${text}\n`;
}
