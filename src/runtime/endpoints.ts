/**
 * What a program shows of itself over HTTP: `/healthz` and `/readyz` for whoever restarts it or sends it traffic, and
 * `/metrics`. The texts are those that people know from other controllers.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { METRICS_CONTENT_TYPE, type Registry } from "#lib/metrics";

/** Throws, or rejects, when something is wrong. What it answers is told to whoever asks for details, so no secrets. */
export type Check = () => Said | Promise<Said>;
// biome-ignore lint/suspicious/noConfusingVoidType: most checks have nothing to say
type Said = string | void;
/** By name, which appears in the detail and as a path below the endpoint. */
export type Checks = Readonly<Record<string, Check>>;

export interface EndpointOptions {
  /** Only this machine unless told. */
  readonly host?: string;
  /** One of the system's choice for 0. */
  readonly port: number;
  /** Whether it should be left running. */
  readonly healthz?: Checks;
  /** Whether it can do its work. */
  readonly readyz?: Checks;
  /** Shown under `/metrics`. */
  readonly registry?: Registry;
  /** Hears where they are, once they are there. */
  readonly onListening?: (port: number) => void;
}

export interface Endpoints {
  readonly port: number;
  /** Ends at once: a check that hangs must not keep the program from ending. May be called again. */
  close(): Promise<void>;
}

export async function serveEndpoints(options: EndpointOptions): Promise<Endpoints> {
  const { host = "127.0.0.1", port } = options;
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const bound = (server.address() as AddressInfo).port; // listening on a port, it has such an address
  options.onListening?.(bound);
  let closed: Promise<void> | undefined;
  return {
    port: bound,
    close() {
      closed ??= closeServer(server);
      return closed;
    },
  };
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function answer(options: EndpointOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  if (request.method !== "GET" && request.method !== "HEAD") return say(response, 405, "method not allowed\n");
  if (pathname === "/metrics" && options.registry) {
    response.writeHead(200, { "Content-Type": METRICS_CONTENT_TYPE }).end(options.registry.text());
    return;
  }
  const [, endpoint = "", name = "", ...rest] = pathname.split("/");
  const checks = endpoint === "healthz" ? options.healthz : endpoint === "readyz" ? options.readyz : undefined;
  if ((endpoint !== "healthz" && endpoint !== "readyz") || rest.length > 0) {
    return say(response, 404, "404 page not found\n");
  }
  const all = new Map(Object.entries({ ...(checks ?? {}) }));
  if (all.size === 0) all.set("ping", () => {});
  await (name === "" ? sayAll(all, searchParams, response) : sayOne(all.get(name), response));
}

async function sayOne(check: Check | undefined, response: ServerResponse): Promise<void> {
  if (!check) return say(response, 404, "404 page not found\n");
  const { isFine } = await verdictOf(check);
  say(response, isFine ? 200 : 500, isFine ? "ok" : "internal server error: reason withheld\n");
}

async function sayAll(
  checks: ReadonlyMap<string, Check>,
  asked: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  const excluded = new Set(asked.getAll("exclude"));
  const lines = await Promise.all(
    [...checks]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(async ([name, check]) => {
        if (excluded.has(name)) return `[+]${name} excluded: ok\n`;
        const { isFine, detail } = await verdictOf(check);
        return isFine ? `[+]${name} ok${detail && `: ${detail}`}\n` : `[-]${name} failed: reason withheld\n`;
      }),
  );
  const failed = lines.some((line) => line.startsWith("[-]"));
  if (!failed && !asked.has("verbose")) return say(response, 200, "ok");
  const unknown = [...excluded].filter((name) => !checks.has(name)).sort();
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name)).join(", ");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}\n`);
  }
  // Both endpoints say healthz here: so it has always been, and somebody may look for it.
  lines.push(`healthz check ${failed ? "failed" : "passed"}\n`);
  say(response, failed ? 500 : 200, lines.join(""));
}

/** Why it does not pass stays here: whoever may ask this need not be one who may know. */
async function verdictOf(check: Check): Promise<{ isFine: boolean; detail: string }> {
  try {
    return { isFine: true, detail: (await check()) ?? "" };
  } catch {
    return { isFine: false, detail: "" };
  }
}

function say(response: ServerResponse, status: number, text: string): void {
  const headers = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };
  response.writeHead(status, headers).end(text);
}
