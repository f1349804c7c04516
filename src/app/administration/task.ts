/** What every act of an administrator has in common: a cluster, a bound, and whether it is only asked what would be done. */
import type { Client } from "#kube";

export interface Task {
  readonly client: Client;
  /** Nothing is written; what would be is told. */
  readonly dryRun: boolean;
  /** Ends every wait. */
  readonly signal: AbortSignal;
  /** Hears what is waited for, in words, whenever that has changed. */
  readonly onWait?: (what: string) => void;
}

/** What was done to an object, or in a dry run would be. */
export interface Change {
  readonly action: "create" | "change" | "keep" | "delete";
  /** `Deployment open-cluster-management/klusterlet` */
  readonly what: string;
  /** Which fields, or why. */
  readonly note?: string;
}
