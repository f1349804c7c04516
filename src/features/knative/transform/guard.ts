import { ConfigMap } from "#api/core";
import type { KnativeServingSpec } from "#api/knative";
import { isOf, type Transformer, withData } from "./objects.ts";

/** The guard lives in the queue proxy, and must know which Pod it guards. */
export function withGuard({ security }: KnativeServingSpec): Transformer {
  return (object) =>
    security?.securityGuard.enabled && isOf(object, ConfigMap) && object.metadata.name === "config-features"
      ? withData(object, { "queueproxy.mount-podinfo": "allowed" })
      : object;
}
