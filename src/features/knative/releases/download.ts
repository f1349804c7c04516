/** One text by HTTP, with bounds on time, size and the way there. */
import { type IncomingMessage, request as plainRequest, type RequestOptions } from "node:http";
import { request as secureRequest } from "node:https";
import { carefulLookup, isVouchedFor, problemOfUrl } from "./addresses.ts";

export interface DownloadOptions {
  readonly allowHosts: readonly string[];
  /** For everything, from the first request to the last byte. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

const MOST_REDIRECTS = 5;

export async function download(text: string, options: DownloadOptions): Promise<Buffer> {
  const signal = AbortSignal.timeout(options.timeoutMs);
  try {
    let url = new URL(text);
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const answer = await ask(url, options, signal);
      const { statusCode = 0, headers } = answer;
      if (statusCode === 200) return await bodyOf(answer, options.maxBytes);
      answer.destroy();
      if (![301, 302, 303, 307, 308].includes(statusCode) || !headers.location) {
        throw new Error(`${url.host} answers ${statusCode} ${answer.statusMessage ?? ""}`.trimEnd());
      }
      url = new URL(headers.location, url);
    }
    throw new Error(`it leads from one place to another more than ${MOST_REDIRECTS} times`);
  } catch (error) {
    if (signal.aborted) throw new Error(`it took longer than ${options.timeoutMs / 1000} s`);
    throw error;
  }
}

/** Every place on the way is looked at, not only the first. */
function ask(url: URL, { allowHosts }: DownloadOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const problem = problemOfUrl(url, allowHosts);
  if (problem !== undefined) throw new Error(problem);
  const options: RequestOptions = {
    signal,
    agent: false,
    headers: { accept: "application/yaml, text/yaml, text/plain, */*", "accept-encoding": "identity" },
    ...(!isVouchedFor(url, allowHosts) && { lookup: carefulLookup }),
  };
  const request = url.protocol === "https:" ? secureRequest : plainRequest;
  return new Promise((resolve, reject) => {
    request(url, options, resolve).on("error", reject).end();
  });
}

async function bodyOf(answer: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  if (!answer.complete) throw new Error("the answer broke off");
  return Buffer.concat(chunks);
}
