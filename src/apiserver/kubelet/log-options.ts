/** What a request for a log may say in its query, checked as an API server does before any node is asked. */
import { badRequest, type FieldError, field, invalid } from "../errors.ts";

export interface LogOptions {
  /** Empty when the Pod has only one. */
  readonly container: string;
  /** Whether any certificate will do for the node. */
  readonly insecure: boolean;
  /** What the node is told. */
  readonly forwarded: URLSearchParams;
}

const FLAGS = ["follow", "previous", "timestamps"] as const;
const NUMBERS = ["sinceSeconds", "tailLines", "limitBytes"] as const;
const STREAMS: ReadonlySet<string> = new Set(["All", ""]);

export function logOptions(pod: string, query: URLSearchParams): LogOptions {
  const forwarded = new URLSearchParams();
  for (const name of FLAGS) if (flag(query, name)) forwarded.set(name, "true");
  const numbers = new Map(NUMBERS.map((name) => [name, wholeNumber(query, name)]));
  for (const [name, value] of numbers) if (value !== undefined) forwarded.set(name, String(value));
  const sinceTime = timeOf(query.get("sinceTime"));
  if (sinceTime !== undefined) forwarded.set("sinceTime", sinceTime);
  const errors = problems(numbers, sinceTime, query.get("stream") ?? "");
  if (errors.length > 0) throw invalid({ group: "", kind: "PodLogOptions", name: pod }, errors);
  return {
    container: query.get("container") ?? "",
    insecure: flag(query, "insecureSkipTLSVerifyBackend"),
    forwarded,
  };
}

function problems(
  numbers: ReadonlyMap<(typeof NUMBERS)[number], number | undefined>,
  sinceTime: string | undefined,
  stream: string,
): FieldError[] {
  const tail = numbers.get("tailLines");
  const limit = numbers.get("limitBytes");
  const seconds = numbers.get("sinceSeconds");
  return [
    ...(tail !== undefined && tail < 0 ? [field.invalid("tailLines", tail, "must be greater than or equal to 0")] : []),
    ...(limit !== undefined && limit < 1 ? [field.invalid("limitBytes", limit, "must be greater than 0")] : []),
    ...(seconds !== undefined && sinceTime !== undefined
      ? [field.forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified")]
      : []),
    ...(seconds !== undefined && sinceTime === undefined && seconds < 1
      ? [field.invalid("sinceSeconds", seconds, "must be greater than 0")]
      : []),
    ...(STREAMS.has(stream) ? [] : [field.forbidden("stream", "may not be specified")]),
  ];
}

function flag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name);
  return text !== null && !["false", "0"].includes(text.toLowerCase());
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
}

function timeOf(text: string | null): string | undefined {
  if (!text) return undefined;
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text)))
    return text;
  throw badRequest(`parsing time ${JSON.stringify(text)}: it must be a time such as 2026-01-31T12:00:00Z`);
}
