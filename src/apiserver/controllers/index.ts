/**
 * What kube-controller-manager does on a real cluster and every API server's clients rely on, run beside the
 * store: namespaces get their content and are emptied when deleted, definitions take their instances along and owners
 * their dependents, what has an end ends, approved requests are signed, aggregated roles gather their rules, Secrets
 * that ask for a token get one.
 */
export { startControllers } from "./manager.ts";
export type { RunningControllers } from "./runner.ts";
export { type SystemWriter, systemWriter } from "./system.ts";
export { type TokenUseDays, tokenUseDays } from "./token-use-days.ts";
