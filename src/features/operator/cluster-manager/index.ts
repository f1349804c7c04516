/** The operator of a hub: keeps the hub's programs, kinds and rights as a ClusterManager asks for them. */
import type { Controller } from "#runtime";
import { certificatesController } from "./certificates.controller.ts";
import { type ClusterManagerOptions, clusterManagerController } from "./cluster-manager.controller.ts";

export type { ClusterManagerOptions } from "./cluster-manager.controller.ts";
export { clusterManagerInstallation } from "./installation.ts";

export function clusterManagerControllers(options: ClusterManagerOptions): Controller[] {
  return [certificatesController(options), clusterManagerController(options)];
}
