/**
 * Deletes finished Jobs, Pods first, when the time is up that they wish to be kept.
 *
 * Key     Job namespace/name
 * Reads   Job
 * Writes  deletes Jobs
 * Twin    kube-controller-manager: ttl-after-finished-controller
 */
import type { Condition, DynamicObject } from "#api/meta";
import type { ServerController } from "../runner.ts";
import { type ExpiryParts, expiringController } from "./expiring.ts";

export function jobExpiryController(parts: ExpiryParts): ServerController {
  const options = { propagationPolicy: "Foreground" } as const;
  return expiringController(parts, { name: "job-expiry", storage: "batch/jobs", expiryMs: jobExpiryMs, options });
}

/** A Job has no end in sight while it runs, or when it does not wish for one. */
export function jobExpiryMs({ spec, status }: DynamicObject): number | undefined {
  const { ttlSecondsAfterFinished: seconds } = (spec ?? {}) as { ttlSecondsAfterFinished?: number | null };
  const { conditions = [] } = (status ?? {}) as { conditions?: Condition[] };
  const finished = conditions.find(({ type, status: is }) => ["Complete", "Failed"].includes(type) && is === "True");
  const finishedMs = Date.parse(finished?.lastTransitionTime ?? "");
  return typeof seconds === "number" && !Number.isNaN(finishedMs) ? finishedMs + seconds * 1000 : undefined;
}
