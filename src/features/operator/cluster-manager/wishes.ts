/** All that a ClusterManager has on its hub, as it should be. */
import { ConfigMap, Secret } from "#api/core";
import type { DynamicObject } from "#api/meta";
import {
  type ClusterManager,
  type ClusterManagerSpec,
  HUB_NAMESPACE,
  OperatorLabel,
  OperatorSecret,
} from "#api/operator";
import {
  clusterRights,
  complete,
  deployment,
  gateArguments,
  HubGates,
  HubWorkGates,
  handedOn,
  imageFor,
  localRights,
  namespace,
  resourcesOf,
  serviceAccount,
  stamped,
} from "../kit/index.ts";
import { definitionsFor } from "./definitions.ts";
import { type HubArguments, hasArgument, shared } from "./hub-arguments.ts";
import { ELECTION_ROLE, KnativeController, RegistrationController, WEBHOOK_PROGRAMS } from "./names.ts";
import { electionRights, knativeRights, registrationRights } from "./rights.ts";
import { addOnConverter, type Reached, webhookConfigurations, webhookProgram } from "./webhooks.ts";

export interface WishOptions {
  /** How the gates of registration stand, and those of works. */
  readonly gates: Readonly<Record<string, boolean>>;
  readonly workGates: Readonly<Record<string, boolean>>;
  /** Which webhooks can be asked, and how; undefined while nothing proves who they are. */
  readonly reached: Reached | undefined;
  readonly arguments: HubArguments;
  /** Our own image. */
  readonly image: string;
  readonly replicas: number;
  /** What is noted on definitions. */
  readonly version: string;
  /** Names of definitions that a newer operator has written. */
  readonly newer: ReadonlySet<string>;
  /** The pull secret in the operator's namespace, if there is one. */
  readonly pullSecret: Secret | undefined;
  /** Whether all that is made carries the labels of the ClusterManager too. */
  readonly syncLabels: boolean;
}

export function wishesOf(manager: ClusterManager, options: WishOptions): DynamicObject[] {
  const { pullSecret } = options;
  const shares = shared(options.arguments.controllers);
  const wishes = [
    namespace(HUB_NAMESPACE),
    ...definitions(manager, options),
    ...(shares.registration === undefined ? [] : registration(manager, options, shares.registration)),
    ...(shares.knative === undefined ? [] : knative(manager, options, shares.knative)),
    ...localRights(ELECTION_ROLE, electionRights(), [RegistrationController.account, KnativeController.account]),
    ...webhooks(manager, options),
    ...(pullSecret ? [copied(pullSecret)] : []),
  ];
  return options.syncLabels ? wishes.map((object) => labelled(object, handedOn(manager.metadata.labels))) : wishes;
}

function definitions(manager: ClusterManager, options: WishOptions): DynamicObject[] {
  const { gates, reached, version, newer } = options;
  return definitionsFor({ gates, conversion: addOnConverter(manager, reached) })
    .filter((definition) => !newer.has(definition.metadata.name))
    .map((definition) => stamped(definition, { version, labels: handedOn(manager.metadata.labels) }));
}

function copied({ type, data }: Secret): DynamicObject {
  const metadata = { name: OperatorSecret.imagePull, namespace: HUB_NAMESPACE };
  return complete(Secret, { metadata, ...(type && { type }), ...(data && { data }) });
}

/** The registration controller, who it is and what it may do. */
function registration(manager: ClusterManager, options: WishOptions, controllers: string): DynamicObject[] {
  const { account, role } = RegistrationController;
  const rights = registrationRights({
    inventory: options.gates.ClusterProfile ?? false,
    cleanup: options.gates.ResourceCleanup ?? true,
    finished: options.workGates.CleanUpCompletedManifestWork ?? false,
  });
  return [
    serviceAccount(account),
    ...clusterRights(role(manager.metadata.name), rights, [account]),
    registrationProgram(manager, options, controllers),
  ];
}

/** The same of the Knative controller: where it does not run, nobody has its rights. */
function knative(manager: ClusterManager, options: WishOptions, controllers: string): DynamicObject[] {
  const { account, role } = KnativeController;
  return [
    serviceAccount(account),
    ...clusterRights(role(manager.metadata.name), knativeRights(), [account]),
    ...knativeProgram(manager, options, controllers),
  ];
}

function registrationProgram(manager: ClusterManager, options: WishOptions, controllers: string): DynamicObject {
  const { gates, workGates } = options;
  const { CleanUpCompletedManifestWork = false } = HubWorkGates;
  const users = gates.ManagedClusterAutoApproval ? approvedUsers(manager.spec) : [];
  return deployment({
    ...pods(manager, options),
    name: RegistrationController.deployment(manager.metadata.name),
    app: RegistrationController.app,
    container: RegistrationController.container,
    serviceAccount: RegistrationController.account.name,
    args: [
      "hub",
      "--no-webhooks",
      ...leading(RegistrationController.lease),
      controllers,
      ...gateArguments({ ...HubGates, CleanUpCompletedManifestWork }, { ...workGates, ...gates }),
      ...(users.length > 0 ? [`--cluster-auto-approval-users=${users.join(",")}`] : []),
    ],
    lastArgs: options.arguments.registration,
  });
}

/** The identities of the csr driver, where there are any, take the place of those in the older field. */
function approvedUsers(spec: ClusterManagerSpec | undefined): readonly string[] {
  const { autoApproveUsers = [], registrationDrivers = [] } = spec?.registrationConfiguration ?? {};
  const { autoApprovedIdentities = [] } = registrationDrivers.find(({ authType }) => authType === "csr")?.csr ?? {};
  return autoApprovedIdentities.length > 0 ? autoApprovedIdentities : autoApproveUsers;
}

const CONFIG = "/etc/capstan";
const CACHE = "/var/cache/capstan";
const PROVIDERS = "providers.json";
/** Tokens that lie in Secrets of the hub lead into clusters; that needs no plugin beside the program. */
const BUILT_IN = { providers: [{ name: "token-secretreader", builtin: "token-secretreader" }] };

function knativeProgram(manager: ClusterManager, options: WishOptions, controllers: string): DynamicObject[] {
  const words = options.arguments.knative;
  const hasFile = hasArgument(words, "--clusterprofile-provider-file");
  const metadata = { name: KnativeController.providerFile, namespace: HUB_NAMESPACE };
  const program = deployment({
    ...pods(manager, options),
    name: KnativeController.deployment(manager.metadata.name),
    app: KnativeController.app,
    container: KnativeController.container,
    serviceAccount: KnativeController.account.name,
    args: [
      "hub",
      ...leading(KnativeController.lease),
      controllers,
      ...(hasFile ? [] : [`--clusterprofile-provider-file=${CONFIG}/${PROVIDERS}`]),
      ...(hasArgument(words, "--knative-cache") ? [] : [`--knative-cache=${CACHE}`]),
      ...words,
    ],
    // The root filesystem is read-only; releases that are downloaded go here.
    volumes: [
      { name: "cache", emptyDir: {} },
      ...(hasFile ? [] : [{ name: "config", configMap: { name: KnativeController.providerFile } }]),
    ],
    mounts: [
      { name: "cache", mountPath: CACHE },
      ...(hasFile ? [] : [{ name: "config", mountPath: CONFIG, readOnly: true }]),
    ],
  });
  const file = complete(ConfigMap, { metadata, data: { [PROVIDERS]: JSON.stringify(BUILT_IN) } });
  return hasFile ? [program] : [file, program];
}

/** The programs that are asked, and from when on they are. */
function webhooks(manager: ClusterManager, options: WishOptions): DynamicObject[] {
  const { gates, workGates, image, reached } = options;
  const { image: _, hasReadiness: __, ...common } = pods(manager, options);
  return [
    ...WEBHOOK_PROGRAMS.flatMap((program) =>
      webhookProgram(manager, { program, image, pods: common, gates, workGates }),
    ),
    ...(reached ? webhookConfigurations(manager, reached) : []),
  ];
}

/** What the Pods of all programs have in common. */
function pods({ metadata, spec }: ClusterManager, { image, replicas, syncLabels }: WishOptions) {
  return {
    namespace: HUB_NAMESPACE,
    image: imageFor(spec?.registrationImagePullSpec, image),
    replicas,
    resources: resourcesOf(spec?.resourceRequirement),
    nodePlacement: spec?.nodePlacement,
    hasReadiness: true,
    labels: {
      ...(syncLabels && handedOn(metadata.labels)),
      [OperatorLabel.createdByClusterManager]: metadata.name,
    },
    // A Pod that starts again takes the lead again at once if it is known by its name.
    env: [{ name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
  };
}

function leading(lease: string): string[] {
  return ["--leader-elect", `--leader-elect-namespace=${HUB_NAMESPACE}`, `--leader-elect-name=${lease}`];
}

function labelled(object: DynamicObject, labels: Readonly<Record<string, string>>): DynamicObject {
  return { ...object, metadata: { ...object.metadata, labels: { ...labels, ...object.metadata.labels } } };
}
