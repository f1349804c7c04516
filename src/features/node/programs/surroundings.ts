/** What all Pods of a node share whose programs run here. */
import type { Client } from "#kube";
import type { Clock } from "#lib/clock";
import type { References } from "./references.ts";

/** The API server as programs reach it. */
export interface OwnServer {
  readonly url: string;
  /** PEM of the authority of its certificate; that which the cluster publishes unless told. */
  readonly ca?: string;
}

export interface Surroundings {
  readonly client: Client;
  readonly references: References;
  readonly clock: Clock;
  readonly server: OwnServer;
}
