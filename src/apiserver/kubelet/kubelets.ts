/** Asks nodes for logs, over TLS that both sides prove themselves by. */
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import type { Node, Pod } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { notFound, plainError } from "../errors.ts";
import type { KeyAndCertificate } from "../identity.ts";
import type { ByteStream } from "../resource.ts";
import { logOptions } from "./log-options.ts";
import { addressOf, containerNamed, type NodeAddress } from "./log-source.ts";
import { refusalOf } from "./node-answers.ts";

export interface KubeletDependencies {
  lookup(storage: string, key: string): DynamicObject | undefined;
  /** PEM of the authority that the certificates of nodes come from. */
  readonly authority: string;
  /** The certificate by which nodes know the server; made when it is first needed. */
  identity(): KeyAndCertificate;
}

export interface Kubelets {
  /** The log that the query asks for; nothing at all for a Pod that is on no node yet. */
  log(pod: DynamicObject, query: URLSearchParams, closed: AbortSignal): Promise<ByteStream>;
  close(): void;
}

const CONTENT_TYPE = "text/plain";
/** How much of a refusal is read. */
const LONGEST_REFUSAL = 50_000;

export function createKubelets(dependencies: KubeletDependencies): Kubelets {
  let agents: { strict: Agent; lenient: Agent } | undefined;
  const agentFor = (insecure: boolean): Agent => {
    agents ??= agentsOf(dependencies);
    return insecure ? agents.lenient : agents.strict;
  };

  return {
    async log(object, query, closed) {
      const pod = object as unknown as Pod;
      const { name, namespace } = pod.metadata;
      const { container, insecure, forwarded } = logOptions(name, query);
      const wanted = containerNamed(pod, container);
      const { nodeName } = pod.spec;
      if (!nodeName) return { contentType: CONTENT_TYPE };
      const node = dependencies.lookup("core/nodes", nodeName);
      if (!node) throw notFound({ group: "", kind: "nodes", name: nodeName });
      const answer = await ask({
        address: addressOf(node as unknown as Node),
        path: `/containerLogs/${namespace}/${name}/${wanted}?${forwarded}`,
        agent: agentFor(insecure),
        closed,
      });
      const code = answer.statusCode ?? 0;
      if (code < 200 || code > 206) throw refusalOf(name, code, await beginningOf(answer));
      return { contentType: CONTENT_TYPE, body: answer };
    },
    close() {
      agents?.strict.destroy();
      agents?.lenient.destroy();
    },
  };
}

function agentsOf({ authority, identity }: KubeletDependencies): { strict: Agent; lenient: Agent } {
  const { certificate: cert, key } = identity();
  const settings = { ca: authority, cert, key };
  return { strict: new Agent(settings), lenient: new Agent({ ...settings, rejectUnauthorized: false }) };
}

interface Question {
  readonly address: NodeAddress;
  readonly path: string;
  readonly agent: Agent;
  readonly closed: AbortSignal;
}

function ask({ address: { host, port }, path, agent, closed }: Question): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, path, agent, signal: closed }, resolve);
    asked.once("error", (error) => reject(plainError(`Get "https://${host}:${port}${path}": ${error.message}`)));
    asked.end();
  });
}

async function beginningOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= LONGEST_REFUSAL) break;
  }
  return Buffer.concat(chunks).subarray(0, LONGEST_REFUSAL).toString("utf8");
}
