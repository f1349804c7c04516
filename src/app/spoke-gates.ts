/** The features of a spoke's agents that can be turned on and off, under the names that Open Cluster Management has for them. */
import { gatesIn } from "./gates.ts";

/** Of the agent that registers, and how they stand unless told. */
const REGISTRATION = {
  /** ClusterClaims are told to the hub. */
  ClusterClaim: true,
  /** ClusterProperties are. */
  ClusterProperty: true,
  /** Taken, so that Klusterlets may say it; there are no add-ons to manage yet. */
  AddonManagement: true,
};
/** Of the agent that works. */
const WORK = {
  /** What an executor may do is remembered until rights change on the spoke; else it is asked at every look. */
  ExecutorValidatingCaches: true,
  /** Feedback may be structures and lists, as JSON. */
  RawFeedbackJsonString: false,
};
const GATES = { ...REGISTRATION, ...WORK };
export type SpokeGates = Readonly<Record<keyof typeof GATES, boolean>>;

/** The programs that a spoke has: one agent, the other, or both in one. */
const TABLES = { registration: REGISTRATION, work: WORK, agent: GATES };

/** As they stand, with those changed that are named. Throws UsageError for one that the program does not have. */
export function parseSpokeGates(program: keyof typeof TABLES, text = ""): SpokeGates {
  return text.trim() === "" ? GATES : { ...GATES, ...gatesIn<Record<string, boolean>>(text, TABLES[program]) };
}
