/** What ends by itself: Events, finished Jobs, requests for certificates, bootstrap tokens, and Pods without a node. */
import type { ServerController } from "../runner.ts";
import { bootstrapTokenExpiryController } from "./bootstrap-token-expiry.controller.ts";
import { csrExpiryController } from "./csr-expiry.controller.ts";
import { eventExpiryController } from "./event-expiry.controller.ts";
import type { ExpiryParts } from "./expiring.ts";
import { jobExpiryController } from "./job-expiry.controller.ts";
import { orphanedPodController } from "./orphaned-pod.controller.ts";
import { unscheduledPodController } from "./unscheduled-pod.controller.ts";

export function expiryControllers(parts: ExpiryParts): readonly ServerController[] {
  return [
    eventExpiryController(parts),
    jobExpiryController(parts),
    csrExpiryController(parts),
    bootstrapTokenExpiryController(parts),
    orphanedPodController(parts),
    unscheduledPodController(parts),
  ];
}
