/** Registration on the hub: who is let in, with which rights, who is alive, and which clusters form a set. */
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { Cluster, Controller } from "#runtime";
import { acceptanceController } from "./acceptance.controller.ts";
import { accessController } from "./access.controller.ts";
import { addonsController } from "./addons.controller.ts";
import { autoAcceptanceController } from "./auto-acceptance.controller.ts";
import { commonRolesController } from "./common-roles.controller.ts";
import { csrApprovalController } from "./csr-approval.controller.ts";
import { defaultSetLabelController } from "./default-set-label.controller.ts";
import { defaultSetsController } from "./default-sets.controller.ts";
import { ledgerController } from "./detach/ledger.controller.ts";
import { resourceCleanupController } from "./detach/resource-cleanup.controller.ts";
import { leaseController } from "./lease.controller.ts";
import { managedNamespacesController } from "./managed-namespaces.controller.ts";
import { setBindingController } from "./set-binding.controller.ts";
import { setStatusController } from "./set-status.controller.ts";
import { taintsController } from "./taints.controller.ts";

export { Reason } from "../reasons.ts";
export { agentRequest } from "./agent-request.ts";
export { Bootstrap, bootstrapObjects, hubCrds, lookedForCrds, spokeCrds } from "./bootstrap-objects.ts";
export { isCleanedKind } from "./detach/cleaned-kinds.ts";

export interface RegistrationHubOptions {
  hub: Cluster;
  clock: Clock;
  log: Logger;
  /** Users whose clusters are let in, and their first certificate requests approved, without a person; nobody unless told. */
  autoApproveUsers?: readonly string[];
  detach?: DetachOptions;
}

/** How clusters go. */
export interface DetachOptions {
  /** Whether their add-ons and works are removed first; they are unless told. */
  readonly isCleaned?: boolean;
  /** What is removed, as `group/version/resource` in its order; add-ons, then works unless told. */
  readonly resources?: readonly string[];
  /** Milliseconds for which a cluster that is known to be lost holds its end up. */
  readonly patience?: number;
}

const DETACH_PATIENCE = 60_000;

/** Clusters have nothing to do with each other, and letting one in takes a dozen requests: nobody waits for the one before. */
const CONCURRENCY = 8;

/** All controllers of registration on the hub, in the order in which a joining cluster meets them. */
export function registrationHubControllers({
  hub,
  clock,
  log,
  autoApproveUsers = [],
  detach: { isCleaned = true, resources, patience = DETACH_PATIENCE } = {},
}: RegistrationHubOptions): Controller[] {
  const controllers: Controller[] = [
    defaultSetLabelController({ hub }),
    commonRolesController({ hub }),
    autoAcceptanceController({ hub, clock, log, autoApproveUsers }),
    acceptanceController({ hub, clock }),
    csrApprovalController({ hub, clock, log, autoApproveUsers }),
    leaseController({ hub, clock, log }),
    accessController({ hub }),
    taintsController({ hub }),
    defaultSetsController({ hub }),
    setStatusController({ hub, clock }),
    setBindingController({ hub, clock }),
    managedNamespacesController({ hub }),
    addonsController({ hub, clock }),
    resourceCleanupController({ hub, clock, isOn: isCleaned, ...(resources && { resources }), patience }),
    ledgerController({ hub }),
  ];
  return controllers.map((controller) => ({ concurrency: CONCURRENCY, ...controller }));
}
