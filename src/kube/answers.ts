/** What an API server answers, as values and errors. */
import type { Status } from "#api/meta";
import { isObject, parseJson } from "#lib/json";
import { KubeError, statusError } from "./errors.ts";
import type { TransportResponse } from "./transport/index.ts";

/** The whole body as text. */
export async function textOf(response: TransportResponse): Promise<string> {
  if (response.whole) return (await response.whole()).toString("utf8");
  const chunks: Buffer[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** The text as an object; throws a KubeError that does not quote it. */
export function objectOf(text: string, what: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw new KubeError("malformed", `${what}: the answer is not JSON; is this the address of an API server?`);
  }
  if (isObject(value)) return value;
  throw new KubeError("malformed", `${what}: the answer is not an object; is this the address of an API server?`);
}

/** Plain texts of proxies and health checks are worth quoting, up to here. */
const LONGEST_QUOTE = 300;

/** The error that an answer of 400 and above stands for. `discreet`: what it says may repeat a secret. */
export function failureOf(response: TransportResponse, text: string, what: string, discreet: boolean): KubeError {
  const retryAfter = retryAfterOf(response);
  const status = statusOf(text, response);
  const { message: _, details, ...bare } = status;
  const { causes: said = [], ...names } = details ?? {};
  const causes = said.filter(({ reason }) => HARMLESS_CAUSES.has(reason ?? ""));
  const about = causes.length > 0 ? { ...names, causes } : names;
  // A server that refuses a patch quotes the whole object.
  const shown: Status = discreet ? { ...bare, message: DISCREET, ...(details && { details: about }) } : status;
  return statusError(shown, what, retryAfter === undefined ? {} : { retryAfter });
}

const DISCREET = "the server refused; what it says is left out because it may hold a secret";
/** Causes that name managers, fields and namespaces, and never a value. */
const HARMLESS_CAUSES: ReadonlySet<string> = new Set(["FieldManagerConflict", "NamespaceTerminating"]);

function statusOf(text: string, { status: code, headers }: TransportResponse): Status {
  const body = parsed(text);
  if (isObject(body) && body.kind === "Status") return { ...(body as unknown as Status), code };
  const plain = String(headers["content-type"] ?? "").startsWith("text/plain") ? text.trim() : "";
  const quote = plain.length > LONGEST_QUOTE ? `${plain.slice(0, LONGEST_QUOTE)}…` : plain;
  const message = quote || `the server answered ${code} without saying why`;
  return { apiVersion: "v1", kind: "Status", metadata: {}, status: "Failure", message, code };
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Seconds; dates, which HTTP allows too, are not used by API servers. */
function retryAfterOf({ headers }: TransportResponse): number | undefined {
  const value = headers["retry-after"];
  return typeof value === "string" && /^\d+$/.test(value) ? Number(value) : undefined;
}

/** The texts of `Warning` headers: `299 - "text"`. */
export function warningsOf({ headers }: TransportResponse): string[] {
  const header: unknown = headers.warning;
  const values = Array.isArray(header) ? header.map(String) : typeof header === "string" ? [header] : [];
  return values.flatMap((value) =>
    [...value.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) => unquoted(text)),
  );
}

function unquoted(text: string): string {
  return text.replace(/\\(.)/g, "$1");
}
