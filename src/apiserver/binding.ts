/** Finding a port: the one that was kept, or the first free one of those that may be chosen. */
import { type Listener, type ListenerOptions, listen } from "./http/index.ts";

/** The address that clusters serve on. */
export const HOST = "127.0.0.1";

/** The port that the cluster chose at its first start belongs to somebody else now. */
export class PortTaken extends Error {
  override readonly name = "PortTaken";
  readonly port: number;

  constructor(port: number, cause: unknown) {
    super(`port ${port} is taken`, { cause });
    this.port = port;
  }
}

export interface BindOptions extends Pick<ListenerOptions, "certificate" | "key" | "handle"> {
  readonly kept: number | undefined;
  /** Tried in order where none was kept; 0 lets the system choose. */
  readonly ports: Iterable<number>;
}

export async function bind({ kept, ports, certificate, key, handle }: BindOptions): Promise<Listener> {
  try {
    return await listen({ host: HOST, ports: kept === undefined ? ports : [kept], certificate, key, handle });
  } catch (error) {
    const { code, port = 0 } = error as NodeJS.ErrnoException & { port?: number };
    throw code === "EADDRINUSE" ? new PortTaken(port, error) : error;
  }
}
