/** Health, readiness and metrics of a program that is more than one run of controllers. */
import type { Registry } from "#lib/metrics";
import { serveEndpoints } from "#runtime";
import { UserError } from "./user-error.ts";

export interface ProgramEndpointsOptions {
  /** Empty for every address of this machine; only this machine's own unless told. */
  readonly host?: string;
  /** One of the system's choice for 0. */
  readonly port: number;
  /** Shown under `/metrics`. */
  readonly registry?: Registry;
  /** Hears where they are. */
  readonly onListening: (url: string) => void;
}

export interface ProgramEndpoints {
  /** From now on it is ready, and stays so. */
  ready(): void;
  close(): Promise<void>;
}

export async function serveProgram(options: ProgramEndpointsOptions): Promise<ProgramEndpoints> {
  const { host, port, registry, onListening } = options;
  let isReady = false;
  const started = () => {
    if (!isReady) throw new Error("it has not started yet");
  };
  try {
    const endpoints = await serveEndpoints({
      ...(host !== undefined && { host }),
      port,
      readyz: { started },
      ...(registry && { registry }),
      onListening: (bound) => onListening(urlOf(host, bound)),
    });
    return {
      ready() {
        isReady = true;
      },
      close: () => endpoints.close(),
    };
  } catch (error) {
    throw explained(error, options);
  }
}

function urlOf(host = "127.0.0.1", port = 0): string {
  return `http://${host.includes(":") ? `[${host}]` : host || "localhost"}:${port}`;
}

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: "it is taken",
  EACCES: "permission denied",
  ENOTFOUND: "no such host",
};

/** What the system says about an address. */
function explained(error: unknown, { host = "127.0.0.1", port }: ProgramEndpointsOptions): unknown {
  const { code = "", syscall } = error as NodeJS.ErrnoException;
  if (syscall !== "listen" && syscall !== "getaddrinfo") return error;
  const where = `${host || "any address"} port ${port}`;
  return new UserError(`cannot show metrics at ${where}: ${WHY[code] ?? code}; choose another --metrics-address`);
}
