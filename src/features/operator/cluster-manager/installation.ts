/** What puts the operator itself on a hub. */
import type { DynamicObject } from "#api/meta";
import { OperatorName } from "#api/operator";
import { type InstallationOptions, operatorInstallation } from "../kit/index.ts";
import { operatorRights } from "./rights.ts";

export function clusterManagerInstallation(options: InstallationOptions): DynamicObject[] {
  const name = OperatorName.clusterManager;
  return operatorInstallation({ name, container: "registration-operator", rights: operatorRights() }, options);
}
