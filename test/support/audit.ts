/** What a server under test heard, as its audit log tells it. */
import { existsSync, readFileSync } from "node:fs";
import type { TestServer } from "./servers.ts";

export interface AuditedRequest {
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user?: { readonly username?: string };
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
