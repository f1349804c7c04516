/** The spoke's half of work: applies what the hub's ManifestWorks say, keeps it so, reports, and takes it away again. */
export { isOwned } from "./config.ts";
export type { FeedbackOptions } from "./feedback.ts";
export {
  type PlannedAction,
  type PlannedChange,
  type PlannedObject,
  planWork,
  recordOf,
  type WorkPlanOptions,
} from "./plan.ts";
export {
  runWorkAgent,
  type WorkAgentControllersOptions,
  type WorkAgentOptions,
  workAgentControllers,
} from "./work-agent.ts";
