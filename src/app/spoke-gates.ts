/** The features of a spoke's agent that can be turned on and off, under the names that Open Cluster Management has for them. */
import { gatesIn } from "./gates.ts";

/** The gates that there are, and how they stand unless told. */
const GATES = {
  /** ClusterClaims are told to the hub. */
  ClusterClaim: true,
  /** ClusterProperties are. */
  ClusterProperty: true,
  /** Taken, so that Klusterlets may say it; there are no add-ons to manage yet. */
  AddonManagement: true,
};
export type SpokeGates = Readonly<Record<keyof typeof GATES, boolean>>;

/** All as they stand for an empty text. */
export function parseSpokeGates(text: string): SpokeGates {
  return text.trim() === "" ? GATES : gatesIn(text, GATES);
}
