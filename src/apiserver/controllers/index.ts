/**
 * What kube-controller-manager does on a real cluster and every API server's clients rely on, run beside the
 * store: namespaces get their content and are emptied when deleted, definitions take their instances along,
 * approved requests are signed, aggregated roles gather their rules, Secrets that ask for a token get one.
 */
export { clusterRoleAggregationController } from "./cluster-role-aggregation.controller.ts";
export { csrSigningController } from "./csr-signing.controller.ts";
export { definitionDeletionController } from "./definition-deletion.controller.ts";
export { namespaceContentController } from "./namespace-content.controller.ts";
export { namespaceDeletionController } from "./namespace-deletion.controller.ts";
export { runServerControllers, type ServerController } from "./runner.ts";
export { type SystemWriter, systemWriter } from "./system.ts";
export { tokenSecretController } from "./token-secret.controller.ts";
export { type TokenUseDays, tokenUseDays } from "./token-use-days.ts";
