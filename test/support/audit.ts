/** What a server under test heard, as its audit log tells it. */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { Namespace } from "#api/core";
import { eventually } from "./eventually.ts";
import type { TestServer } from "./servers.ts";

export interface AuditedRequest {
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user?: { readonly username?: string };
  readonly responseStatus?: { readonly code?: number };
}

export function auditedBy({ auditLog }: Pick<TestServer, "auditLog">): AuditedRequest[] {
  const files = [`${auditLog}.1`, auditLog].filter((file) => existsSync(file));
  const lines = files.flatMap((file) => readFileSync(file, "utf8").split("\n"));
  // The last line may be half written.
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}

/** All that it has heard by now: the log is written a moment later, so a question of our own is waited for. */
export async function auditedSoFar(server: TestServer): Promise<AuditedRequest[]> {
  const mark = randomUUID();
  await server.client.get(Namespace, mark).catch(() => {});
  return eventually(() => {
    const heard = auditedBy(server);
    if (!heard.some(({ requestURI }) => requestURI.includes(mark))) throw new Error("the audit log is behind");
    return heard;
  });
}
