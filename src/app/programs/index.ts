/**
 * What the agents of a spoke are put together from, and nothing else. They run on every cluster of a fleet, so they should
 * be small: whatever a program loads stays in its memory, and the rest of `#app` is several times as large as an agent.
 */
export { stopSignal } from "#runtime";
export {
  bootstrapFile,
  type RegistrationOptions,
  runAgent,
  runRegistration,
  runWork,
  type WorkWishes,
  wayInFile,
  whileLeading,
} from "../agent.ts";
export { createProgramMetrics, type ProgramMetrics } from "../metrics.ts";
export type { ProgramContext } from "../node.ts";
export { serveProgram } from "../program-endpoints.ts";
export { parseSpokeGates, type SpokeGates } from "../spoke-gates.ts";
export { UsageError, UserError } from "../user-error.ts";
