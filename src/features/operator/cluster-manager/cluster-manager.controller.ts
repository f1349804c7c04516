/**
 * Makes the hub look as its ClusterManager says, and clears it away when the ClusterManager goes.
 *
 * Key     ClusterManager name
 * Reads   ClusterManager, Node; the pull secret in the operator's namespace; CustomResourceDefinition; all that carries
 *         the label of the ClusterManager
 * Writes  ClusterManager: finalizer, status; definitions, namespace, accounts, roles, Deployments and Services of the
 *         hub, and the configurations of its webhooks
 * Twin    ocm:pkg/operator/operators/clustermanager/controllers
 */
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { ConfigMap, Secret, Service } from "#api/core";
import type { Kind, KubeObject } from "#api/meta";
import {
  ClusterManager,
  ClusterManagerCondition,
  ClusterManagerReason,
  type ClusterManagerSpec,
  OPERATOR_NAMESPACE,
  OperatorFinalizer,
  OperatorLabel,
  OperatorSecret,
  type OperatorStatus,
} from "#api/operator";
import type { Clock } from "#lib/clock";
import { isDeleting } from "#lib/meta";
import { again, type Cluster, type Controller, done, type Outcome, type ReconcileContext, withCleanUp } from "#runtime";
import {
  chosenGates,
  definitionVersion,
  type GateChoice,
  gateCondition,
  HubGates,
  HubWorkGates,
  hindrancesIn,
  isNewer,
  replicaChoice,
  Sites,
} from "../kit/index.ts";
import { isCertificate } from "./certificates.controller.ts";
import { DEFINITION_NAMES } from "./definitions.ts";
import { HubArgumentsError, hubArgumentsOf } from "./hub-arguments.ts";
import { isHosted, keeperAmong } from "./keeper.ts";
import { FIELD_MANAGER, HUB_KINDS } from "./names.ts";
import { reachedWebhooks } from "./reached.ts";
import { removeHub } from "./removal.ts";
import { statusAfter, unsupportedIn, withClaims } from "./verdict.ts";
import { type WishOptions, wishesOf } from "./wishes.ts";

export interface ClusterManagerOptions {
  /** The hub, which the operator runs on. */
  readonly cluster: Cluster;
  /** Our own image; its tag is what is noted on definitions, so that an older operator does not undo them. */
  readonly image: string;
  /** Where the operator runs, and the pull secret lies that its programs need. */
  readonly namespace?: string;
  /** How many Pods each program has; by the nodes of the control plane unless told. */
  readonly replicas?: number;
  /** Whether all that is made carries the labels of the ClusterManager too. */
  readonly syncLabels?: boolean;
  /** Milliseconds for which objects with finalizers hold up the end of the hub. */
  readonly removalPatience?: number;
  readonly clock: Clock;
}

const REMOVAL_PATIENCE_MS = 5 * 60_000;
/** Such as a namespace that is still being deleted. */
const PATIENCE_MS = 5_000;
/** What may pass by itself, and nobody tells of, is looked at again so soon. */
const LOOK_AGAIN_MS = 10_000;
/** What is waited for at the end of a hub is not watched. */
const REMOVAL_LOOK_MS = 1_000;

export function clusterManagerController(options: ClusterManagerOptions): Controller {
  const { cluster, image, clock, namespace = OPERATOR_NAMESPACE, syncLabels = false } = options;
  const version = definitionVersion(image);
  const managers = cluster.cache(ClusterManager);
  const definitions = cluster.cache(CustomResourceDefinition, { projection: "metadata" });
  const pullSecrets = cluster.cache(Secret, { namespace, fieldSelector: `metadata.name=${OperatorSecret.imagePull}` });
  const replicas = replicaChoice({ cluster, ...(options.replicas !== undefined && { asked: options.replicas }) });
  const label = OperatorLabel.createdByClusterManager;
  const sites = new Sites({
    clock,
    fieldManager: FIELD_MANAGER,
    label,
    kinds: HUB_KINDS,
    // How programs fare, where they say that they listen, and whom they are signed by.
    watched: [Deployment, Service, ConfigMap] as readonly Kind<KubeObject>[],
    isSpared: isCertificate,
  });
  const all = () => managers.list().map(({ metadata }) => metadata.name);

  return {
    name: "cluster-manager",
    triggers: [
      managers.keyedBy(({ metadata }) => [metadata.name, ...all()]),
      definitions.keyedBy(({ metadata }) => (DEFINITION_NAMES.has(metadata.name) ? all() : undefined)),
      pullSecrets.keyedBy(() => all()),
      ...replicas.keyedBy(all),
      sites.trigger,
    ],

    async reconcile(name, context) {
      const manager = managers.get(name);
      if (!manager) {
        sites.leave(name);
        return done;
      }
      const refusal = isDeleting(manager) ? undefined : refusalOf(manager);
      if (refusal) {
        sites.leave(name);
        return say(manager, withClaims(manager, [refusal], clock.now()));
      }
      return withCleanUp({
        cluster,
        kind: ClusterManager,
        object: manager,
        finalizer: OperatorFinalizer.clusterManager,
        reconcile: (object) => install(object, context),
        cleanUp: (object) => uninstall(object, context),
      });
    },
  };

  /** Why nothing is done about a ClusterManager at all. */
  function refusalOf(manager: ClusterManager) {
    const type = ClusterManagerCondition.Applied;
    if (isHosted(manager)) {
      const message =
        "Mode Hosted is not supported: the hub's programs run on the hub itself. Nothing was touched; set deployOption.mode to Default.";
      return { type, status: "False", reason: ClusterManagerReason.unsupportedMode, message } as const;
    }
    const rival = keeperAmong(managers.list());
    if (!rival || rival === manager) return undefined;
    const message = `ClusterManager ${rival.metadata.name} keeps this hub, and a hub has one; delete one of the two.`;
    return { type, status: "False", reason: ClusterManagerReason.otherManager, message } as const;
  }

  async function install(manager: ClusterManager, { signal }: ReconcileContext): Promise<Outcome> {
    const gates = chosenGates(HubGates, manager.spec?.registrationConfiguration?.featureGates);
    const workGates = chosenGates(HubWorkGates, manager.spec?.workConfiguration?.featureGates);
    const gateClaim = gateCondition({
      [REGISTRATION]: gates,
      workConfiguration: workGates,
      ...otherGates(manager.spec),
    });
    const site = sites.at(manager.metadata.name, cluster);
    const reached = await reachedWebhooks(manager, site, signal);
    const wishes = wishedBy(manager, { gates: gates.gates, workGates: workGates.gates, reached });
    if (!wishes.isClear) {
      await say(manager, withClaims(manager, [wishes.claim, gateClaim], clock.now()));
      return done;
    }
    const report = await site.apply(wishes.objects, { signal, patience: PATIENCE_MS });
    const deployments = await site.list(Deployment, signal);
    const seen = { report, wishes: wishes.objects, deployments, unsupported: unsupportedIn(manager.spec) };
    await say(manager, statusAfter(manager, seen, gateClaim, clock.now()));
    return hindrancesIn(report).length > 0 ? again(LOOK_AGAIN_MS) : done;
  }

  function wishedBy(manager: ClusterManager, found: Pick<WishOptions, "gates" | "workGates" | "reached">) {
    try {
      const objects = wishesOf(manager, {
        ...found,
        arguments: hubArgumentsOf(manager),
        image,
        replicas: replicas.count(),
        version,
        newer: newerDefinitions(),
        pullSecret: pullSecrets.get(`${namespace}/${OperatorSecret.imagePull}`),
        syncLabels,
      });
      return { isClear: true, objects } as const;
    } catch (error) {
      if (!(error instanceof HubArgumentsError)) throw error;
      const type = ClusterManagerCondition.Applied;
      const reason = ClusterManagerReason.malformedArguments;
      return { isClear: false, claim: { type, status: "False", reason, message: error.message } } as const;
    }
  }

  function newerDefinitions(): ReadonlySet<string> {
    const names = [...DEFINITION_NAMES].filter((name) => isNewer(definitions.get(name), version));
    return new Set(names);
  }

  async function uninstall(manager: ClusterManager, { signal, log }: ReconcileContext): Promise<Outcome> {
    const { name } = manager.metadata;
    const site = sites.at(name, cluster);
    if (keeperAmong(managers.list()) !== manager) {
      await site.remove({ signal });
      sites.leave(name);
      return done;
    }
    const patience = options.removalPatience ?? REMOVAL_PATIENCE_MS;
    const waiting = await removeHub({ cluster, site, definitions, clock, log, patience, signal });
    if (waiting === undefined) {
      sites.leave(name);
      return done;
    }
    const type = ClusterManagerCondition.Progressing;
    const claim = { type, status: "True", reason: ClusterManagerReason.removing, message: waiting } as const;
    await say(manager, withClaims(manager, [claim], clock.now()));
    return again(REMOVAL_LOOK_MS);
  }

  async function say(manager: ClusterManager, status: OperatorStatus): Promise<Outcome> {
    await cluster.commit(ClusterManager, manager, { ...manager, status });
    return done;
  }
}

const REGISTRATION = "registrationConfiguration";

/** Gates of what there is not here; a wish for one should not go unanswered. */
function otherGates(spec: ClusterManagerSpec = {}): Readonly<Record<string, GateChoice>> {
  const { addOnManagerConfiguration, placementConfiguration, serverConfiguration } = spec;
  const others = { addOnManagerConfiguration, placementConfiguration, serverConfiguration };
  return Object.fromEntries(
    Object.entries(others).map(([field, configuration]) => [field, chosenGates({}, configuration?.featureGates)]),
  );
}
