/** Registration on the hub: who is let in, with which rights, who is alive, and which clusters form a set. */
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { Cluster, Controller } from "#runtime";
import { acceptanceController } from "./acceptance.controller.ts";
import { accessController } from "./access.controller.ts";
import { commonRolesController } from "./common-roles.controller.ts";
import { csrApprovalController } from "./csr-approval.controller.ts";
import { defaultSetLabelController } from "./default-set-label.controller.ts";
import { defaultSetsController } from "./default-sets.controller.ts";
import { leaseController } from "./lease.controller.ts";
import { setBindingController } from "./set-binding.controller.ts";
import { setStatusController } from "./set-status.controller.ts";
import { taintsController } from "./taints.controller.ts";

export { Reason } from "../reasons.ts";
export { agentRequest } from "./agent-request.ts";
export { Bootstrap, bootstrapObjects, hubCrds, spokeCrds } from "./bootstrap-objects.ts";

export interface RegistrationHubOptions {
  hub: Cluster;
  clock: Clock;
  log: Logger;
  /** Users whose first certificate requests are approved without a person; nobody unless told. */
  autoApproveUsers?: readonly string[];
}

/** All controllers of registration on the hub, in the order in which a joining cluster meets them. */
export function registrationHubControllers({
  hub,
  clock,
  log,
  autoApproveUsers = [],
}: RegistrationHubOptions): Controller[] {
  return [
    defaultSetLabelController({ hub }),
    commonRolesController({ hub }),
    acceptanceController({ hub, clock }),
    csrApprovalController({ hub, clock, log, autoApproveUsers }),
    leaseController({ hub, clock, log }),
    accessController({ hub }),
    taintsController({ hub }),
    defaultSetsController({ hub }),
    setStatusController({ hub, clock }),
    setBindingController({ hub, clock }),
  ];
}
