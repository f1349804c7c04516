/** All that runs beside the store of one cluster, in the place of kube-controller-manager. */
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { TokenSigningKey } from "#lib/pki";
import type { KeyAndCertificate } from "../identity.ts";
import type { Catalog } from "../resource.ts";
import type { Store } from "../store/index.ts";
import { clusterRoleAggregationController } from "./cluster-role-aggregation.controller.ts";
import { csrSigningController } from "./csr-signing.controller.ts";
import { definitionDeletionController } from "./definition-deletion.controller.ts";
import { disruptionControllers } from "./disruption/index.ts";
import { type EventTeller, eventTeller } from "./events.ts";
import { expiryControllers } from "./expiry/index.ts";
import { garbageCollector } from "./garbage-collection/garbage-collector.controller.ts";
import { namespaceContentController } from "./namespace-content.controller.ts";
import { namespaceDeletionController } from "./namespace-deletion.controller.ts";
import { nodeLifecycleControllers } from "./nodes/index.ts";
import { followOwnership, type Ownership } from "./ownership.ts";
import { type RunningControllers, runServerControllers, type ServerController } from "./runner.ts";
import { serviceControllers } from "./services/index.ts";
import type { OwnObject } from "./services/kubernetes-service.controller.ts";
import type { SystemWriter } from "./system.ts";
import { tokenSecretController } from "./token-secret.controller.ts";
import { cronJobController } from "./workloads/cron-job/cron-job.controller.ts";
import { daemonSetController } from "./workloads/daemon-set/daemon-set.controller.ts";
import { deploymentController } from "./workloads/deployment/deployment.controller.ts";
import { jobController } from "./workloads/job/job.controller.ts";
import { trackingFinalizerController } from "./workloads/job/tracking-finalizer.controller.ts";
import { replicaSetController, replicationController } from "./workloads/replicas/replicas.controller.ts";
import { statefulSetController } from "./workloads/stateful-set/stateful-set.controller.ts";

export interface ManagerOptions {
  readonly store: Store;
  readonly writer: SystemWriter;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly log: Logger;
  /** Signs the certificates of clients. */
  readonly authority: KeyAndCertificate;
  /** PEM of the authority that the server's own certificate is signed by. */
  readonly servingAuthority: string;
  readonly signingDurationMs: number;
  readonly tokenKey: TokenSigningKey;
  /** The Service of the API server itself, and what stands behind it. */
  readonly ownService: readonly OwnObject[];
}

/** What most controllers are made from. */
export interface ControllerParts extends ManagerOptions {
  readonly ownership: Ownership;
  /** Events in the name of a component, called as on a real cluster: `deployment-controller`. */
  teller(component: string): EventTeller;
}

export function startControllers(options: ManagerOptions): RunningControllers {
  const { store, writer, clock, log } = options;
  const ownership = followOwnership(store);
  const teller = (component: string) => eventTeller({ component, store, writer, clock, log });
  const controllers = serverControllers({ ...options, ownership, teller });
  const running = runServerControllers({ store, clock, log, controllers });
  return {
    get isQuiet() {
      return running.isQuiet;
    },
    async stop() {
      await running.stop();
      ownership.close();
    },
  };
}

function serverControllers(parts: ControllerParts): readonly ServerController[] {
  const { store, writer, clock, authority, signingDurationMs, tokenKey } = parts;
  const authorityPem = parts.servingAuthority;
  return [
    namespaceContentController({ store, writer, authorityPem }),
    namespaceDeletionController(parts),
    definitionDeletionController({ store, writer, clock }),
    garbageCollector(parts),
    ...expiryControllers(parts),
    clusterRoleAggregationController({ store, writer }),
    csrSigningController({ store, writer, authority, signingDurationMs, clock }),
    tokenSecretController({ store, writer, key: tokenKey, authorityPem }),
    ...nodeLifecycleControllers(parts),
    deploymentController(parts),
    replicaSetController(parts),
    replicationController(parts),
    statefulSetController(parts),
    daemonSetController(parts),
    jobController(parts),
    trackingFinalizerController(parts),
    cronJobController(parts),
    ...serviceControllers(parts),
    ...disruptionControllers(parts),
  ];
}
