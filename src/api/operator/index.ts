/** The group `operator.open-cluster-management.io`: a hub and the agents of a spoke, as one asks an operator for them. */
export { ClusterManager, type ClusterManagerSpec, clusterManagerCrd } from "./cluster-manager.ts";
export { Klusterlet, KlusterletMode, type KlusterletSpec, klusterletCrd } from "./klusterlet.ts";
export {
  AGENT_ADDON_NAMESPACE,
  AGENT_NAMESPACE,
  ClusterManagerCondition,
  ClusterManagerReason,
  FeatureGateReason,
  HUB_NAMESPACE,
  KlusterletCondition,
  KlusterletReason,
  OPERATOR_GROUP,
  OPERATOR_NAMESPACE,
  OperatorAnnotation,
  OperatorCondition,
  OperatorFinalizer,
  OperatorLabel,
  OperatorName,
  OperatorSecret,
  rejoinCommand,
} from "./names.ts";
export type {
  FeatureGate,
  GenerationStatus,
  NodePlacement,
  OperatorStatus,
  RelatedResource,
  ResourceRequirement,
} from "./pieces.ts";
export {
  type HubWebhook,
  HubWebhooks,
  WEBHOOK_PORT,
  WEBHOOK_URL_ANNOTATION,
  WebhookCertificate,
  WebhookPath,
  type WebhookProgram,
  WebhookService,
} from "./webhooks.ts";
