/**
 * Credentials from programs, by the protocol of `client.authentication.k8s.io`: the engine that runs other people's
 * plugins for us, and our own plugins for other people's clients.
 */
export {
  type EnvironmentVariable,
  EXEC_EXTENSION,
  EXEC_V1,
  EXEC_V1BETA1,
  type ExecCluster,
  type ExecConfig,
  type ExecVersion,
  execConfigOf,
  type InteractiveMode,
} from "./config.ts";
export { createExecEngine, type ExecEngine, type ExecEngineOptions } from "./engine.ts";
export { type Environment, EXEC_INFO } from "./environment.ts";
export { ExecError, type ExecReason } from "./error.ts";
export { type CallStatus, type ExecMetrics, registerExecMetrics } from "./metrics.ts";
export * from "./plugins/index.ts";
export { findProgram, type PluginPolicy } from "./policy.ts";
