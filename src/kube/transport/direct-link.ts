/** Requests to a server in the same process, which answers without a connection. */
import { asLost, type Link, LinkError, type TransportRequest, type TransportResponse } from "./link.ts";

/** An API server in the same process, as one identity. */
export interface DirectServer {
  /** Resolves when the answer begins; the signal calls it off, now or while the body is read. */
  ask(request: TransportRequest, signal: AbortSignal): Promise<TransportResponse>;
}

export class DirectLink implements Link {
  readonly #server: DirectServer;
  /** What calls requests off that are under way. */
  readonly #open = new Set<AbortController>();

  constructor(server: DirectServer) {
    this.#server = server;
  }

  hasRoom(): boolean {
    return true;
  }

  async send(request: TransportRequest, signal: AbortSignal): Promise<TransportResponse> {
    if (signal.aborted) throw signal.reason;
    const leaving = new AbortController();
    const { signal: left } = leaving;
    const abort = () => leaving.abort(signal.reason);
    const end = () => {
      this.#open.delete(leaving);
      signal.removeEventListener("abort", abort);
    };
    signal.addEventListener("abort", abort, { once: true });
    this.#open.add(leaving);
    try {
      const { body, cancel, ...answer } = await this.#server.ask(request, left);
      return {
        ...answer,
        body: whole(body, left, end),
        cancel() {
          end();
          cancel();
        },
      };
    } catch (error) {
      end();
      if (left.aborted) throw left.reason;
      throw new LinkError("unreachable", `no answer: ${(error as Error).message}`, error);
    }
  }

  retire(): void {}

  destroy(failure: LinkError): void {
    for (const leaving of this.#open) leaving.abort(failure);
  }
}

async function* whole(body: AsyncIterable<Buffer>, left: AbortSignal, end: () => void): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    throw left.aborted ? left.reason : asLost(error);
  } finally {
    end();
  }
}
