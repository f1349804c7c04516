/**
 * Deletes the Secrets of bootstrap tokens that have ended.
 *
 * Key     Secret namespace/name
 * Reads   Secret
 * Writes  deletes Secrets
 * Twin    kube-controller-manager: token-cleaner-controller
 */
import type { DynamicObject } from "#api/meta";
import type { ServerController } from "../runner.ts";
import { type ExpiryParts, expiringController } from "./expiring.ts";

const TOKEN_TYPE = "bootstrap.kubernetes.io/token";
const TOKEN_NAMESPACE = "kube-system";
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

export function bootstrapTokenExpiryController(parts: ExpiryParts): ServerController {
  return expiringController(parts, {
    name: "bootstrap-token-expiry",
    storage: "core/secrets",
    expiryMs: bootstrapTokenExpiryMs,
  });
}

/** A token may have no end. One whose date cannot be read is over, because some end was meant. */
export function bootstrapTokenExpiryMs({ type, metadata, data }: DynamicObject): number | undefined {
  if (type !== TOKEN_TYPE || metadata.namespace !== TOKEN_NAMESPACE) return undefined;
  const { expiration = "" } = (data ?? {}) as { expiration?: string };
  const text = Buffer.from(expiration, "base64").toString("utf8");
  if (text === "") return undefined;
  return RFC3339.test(text) ? Date.parse(text) || 0 : 0;
}
