/** What a node answers, in the place of a kubelet: the logs of its Pods' containers, and that it is well. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import { Pod } from "#api/core";
import type { Status } from "#api/meta";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { Cache, Cluster } from "#runtime";
import type { PodRunner } from "../kubelet/runner.ts";
import { accessOf } from "./access.ts";
import { listen, type NodeListener } from "./listener.ts";
import { BadLogOptions, logOptions, logText } from "./log-options.ts";
import { containerOf, loggedRun } from "./log-run.ts";
import { ServingCertificate } from "./serving-certificate.ts";

export interface NodeServerOptions {
  readonly cluster: Cluster;
  readonly node: string;
  readonly address: string;
  readonly runner: PodRunner;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const LOGS = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/;
const STREAMS = /^\/(exec|attach|portForward|run|cri)\//;

export async function startNodeServer(options: NodeServerOptions): Promise<NodeListener> {
  const { cluster, node, address, clock, log, signal } = options;
  const certificate = new ServingCertificate({ client: cluster.client, node, address, clock, log, signal });
  const server = new NodeServer(options);
  return listen({
    host: address,
    identity: () => certificate.identity(),
    handle: (request, response) => server.handle(request, response),
    log,
  });
}

/** Becomes an answer in plain text, as kubelets give it. */
class Refusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

class NodeServer {
  readonly #options: NodeServerOptions;
  readonly #pods: Cache<Pod>;

  constructor(options: NodeServerOptions) {
    this.#options = options;
    this.#pods = options.cluster.cache(Pod);
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    response.on("error", () => {}); // the client went away in the middle of an answer
    this.#serve(request, response).catch((error: unknown) => {
      if (!(error instanceof Refusal)) this.#options.log.warn("a request to the node failed", { error });
      if (response.headersSent) {
        response.destroy();
        return;
      }
      const code = error instanceof Refusal ? error.code : 500;
      const text = error instanceof Refusal ? error.message : "Internal Server Error";
      response.writeHead(code, { "Content-Type": "text/plain; charset=utf-8" }).end(text);
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url = "/" } = request;
    const { node, cluster, clock } = this.#options;
    const certificate = (request.socket as TLSSocket).getPeerX509Certificate()?.raw;
    const access = await accessOf({ client: cluster.client, clock, node, method, certificate });
    if (access === "unauthorized") throw new Refusal(401, "Unauthorized");
    if (access === "forbidden") throw new Refusal(403, `Forbidden (${method} nodes/proxy of ${node})`);

    const { pathname, searchParams } = new URL(url, "https://node.invalid");
    if (STREAMS.test(pathname)) {
      response.writeHead(501, { "Content-Type": "application/json" }).end(JSON.stringify(NOT_SERVED));
      return;
    }
    if (method !== "GET") throw new Refusal(405, "Method Not Allowed");
    if (pathname === "/healthz") {
      response.writeHead(200, { "Content-Type": "text/plain; charset=utf-8" }).end("ok");
      return;
    }
    const [, namespace, pod, container] = LOGS.exec(pathname) ?? [];
    if (!namespace || !pod || !container) throw new Refusal(404, "404 page not found");
    await this.#serveLog({ key: `${namespace}/${pod}`, container }, searchParams, response);
  }

  async #serveLog(
    { key, container: name }: { key: string; container: string },
    query: URLSearchParams,
    response: ServerResponse,
  ): Promise<void> {
    const { runner, node, clock, signal } = this.#options;
    const options = readOptions(query, clock.now());
    const pod = this.#pods.get(key);
    if (pod?.spec.nodeName !== node) throw new Refusal(404, `pod "${key.split("/")[1]}" does not exist`);
    const container = containerOf(pod, name);
    if (!container) throw new Refusal(404, `container "${name}" not found in pod "${pod.metadata.name}"`);
    const run = loggedRun(pod, name, options.previous);
    if (typeof run === "string") throw new Refusal(400, run);

    const over = this.#whenOver(key, name, run.containerID);
    response.once("close", over.end);
    response.writeHead(200, { "Content-Type": "text/plain; charset=utf-8" });
    response.flushHeaders();
    try {
      const until = AbortSignal.any([over.signal, signal]);
      const follow = options.follow && run.isRunning;
      for await (const piece of logText(runner.log(pod, container, run), { ...options, follow }, until)) {
        if (response.destroyed) break; // whoever asked has gone
        if (!response.write(piece)) await drained(response);
      }
    } finally {
      over.end();
      response.end();
    }
  }

  /** Fires when the run that is followed has ended, or its Pod is gone. */
  #whenOver(key: string, container: string, containerID: string): { signal: AbortSignal; end: () => void } {
    const over = new AbortController();
    const unsubscribe = this.#pods.onChange((before, after) => {
      const { namespace, name } = (after ?? before)?.metadata ?? {};
      if (`${namespace}/${name}` !== key) return;
      const run = after ? loggedRun(after, container, false) : "gone";
      if (typeof run === "string" || !run.isRunning || run.containerID !== containerID) over.abort();
    });
    return {
      signal: over.signal,
      end: () => {
        unsubscribe();
        over.abort();
      },
    };
  }
}

/** A Status and no plain text, because that is what clients who wanted a stream can show. */
const NOT_SERVED: Status = {
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  reason: "NotImplemented",
  message:
    "this node has no containers to execute in, to attach or to forward to: its Pods are simulated, or programs of the node itself",
  code: 501,
};

function readOptions(query: URLSearchParams, now: Date) {
  try {
    return logOptions(query, now);
  } catch (error) {
    if (error instanceof BadLogOptions) throw new Refusal(400, error.message);
    throw error;
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) return resolve();
    response.once("drain", resolve);
    response.once("close", resolve);
  });
}
