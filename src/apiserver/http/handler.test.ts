import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import type { Exchange } from "./exchange.ts";
import { createHandler, type HandlerDependencies } from "./handler.ts";
import { createLimiter } from "./limiter.ts";
import { sendText } from "./response.ts";

let server: Server | undefined;
afterEach(() => new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined))));

/** A handler that knows no resources, with so many places, and what it told of its requests. */
async function start(places: number, more: Partial<HandlerDependencies> = {}) {
  const told: string[] = [];
  const completed: Exchange[] = [];
  const dependencies = {
    registry: { catalog: { resources: [], find: () => undefined, generation: 1 } },
    authenticator: { authenticate: async () => ({ username: "root", groups: ["system:masters"] }) },
    authorizer: { authorize: () => ({ allowed: true, reason: "because" }) },
    limiter: createLimiter({ clock: systemClock, places: { readOnly: places, mutating: places }, waitingPerPlace: 0 }),
    pages: { serve: (_: unknown, response: Parameters<typeof sendText>[0]) => sendText(response, 200, "page") },
    observers: [
      {
        streaming: () => void told.push("streaming"),
        completed: (exchange: Exchange) => void completed.push(exchange),
      },
    ],
    clock: systemClock,
    log: silentLog,
    stopping: new AbortController().signal,
    ...more,
  } as unknown as HandlerDependencies;
  server = createServer(createHandler(dependencies) as never);
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, told, completed, limiter: dependencies.limiter };
}

describe("the handler", () => {
  it("answers 429 when there is no place, to administrators as well", async () => {
    const { url } = await start(0);
    const response = await fetch(`${url}/api/v1/pods`);
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(response.headers.get("x-kubernetes-pf-flowschema-uid")).toMatch(/^[0-9a-f-]{36}$/);
    expect(await response.json()).toMatchObject({ reason: "TooManyRequests", details: { retryAfterSeconds: 1 } });
  });

  it.each(["/readyz", "/livez/ping", "/healthz", "/apis/a.io/v1/things?watch=true"])(
    "lets %s through when there is no place",
    async (path) => {
      const { url } = await start(0);
      expect((await fetch(`${url}${path}`)).status).not.toBe(429);
    },
  );

  it("gives every place back, also of requests that failed", async () => {
    const { url, limiter } = await start(1);
    for (const path of ["/nothing", "/apis/a.io/v1/things", "/nothing"]) await fetch(`${url}${path}`);
    expect((await fetch(`${url}/nothing`)).status).toBe(200);
    expect(limiter.inFlight("readOnly")).toBe(0);
  });

  it("tells what became of a request, and who asked", async () => {
    const denied = {
      authorize: () => ({ allowed: false, reason: "no" }),
    } as unknown as HandlerDependencies["authorizer"];
    const { url, completed } = await start(1, { authorizer: denied });
    const response = await fetch(`${url}/api/v1/namespaces/a/pods/b`, { headers: { "Audit-Id": "mine" } });
    expect(response.headers.get("audit-id")).toBe("mine");
    await vi.waitFor(() => expect(completed).toHaveLength(1));
    expect(completed).toMatchObject([
      {
        auditId: "mine",
        code: 403,
        caller: { username: "root" },
        decision: { allowed: false, reason: "no" },
        failure: { reason: "Forbidden" },
        info: { verb: "get", resource: { namespace: "a", resource: "pods", name: "b" } },
      },
    ]);
  });

  it("makes its own id where a client's is too long to repeat", async () => {
    const { url } = await start(1);
    const response = await fetch(`${url}/x`, { headers: { "Audit-Id": "y".repeat(500) } });
    expect(response.headers.get("audit-id")).toMatch(/^[0-9a-f-]{36}$/);
  });
});
