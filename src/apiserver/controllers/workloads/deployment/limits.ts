/** How far a rollout may stray from the wished number of Pods. */
import type { Deployment } from "#api/apps";
import { amountOf } from "../amounts.ts";

export interface Limits {
  readonly replicas: number;
  /** Pods beyond the wished number. */
  readonly maxSurge: number;
  /** Pods that may be missing or not available. */
  readonly maxUnavailable: number;
}

export function limitsOf({ spec }: Deployment): Limits {
  const { replicas = 1, strategy } = spec;
  if (strategy?.type === "Recreate") return { replicas, maxSurge: 0, maxUnavailable: 0 };
  const { maxSurge = 0, maxUnavailable = 0 } = strategy?.rollingUpdate ?? {};
  const surge = amountOf(maxSurge, replicas, Math.ceil);
  const unavailable = amountOf(maxUnavailable, replicas, Math.floor);
  // Rounding may leave no room to move at all. Then one Pod is given up first, because a quota may forbid a surge.
  const room = surge === 0 && unavailable === 0 ? 1 : unavailable;
  return { replicas, maxSurge: surge, maxUnavailable: Math.min(room, replicas) };
}
