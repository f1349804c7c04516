/** What follows from the type of a Service. */
import { type Fields, listAt, textAt, textsAt } from "./fields.ts";

export const NO_ADDRESS = "None";

export function needsAddress(spec: Fields): boolean {
  return textAt(spec, "type") !== "ExternalName";
}

/** Its name leads to the Pods themselves. */
export function isHeadless(spec: Fields): boolean {
  const addresses = textsAt(spec, "clusterIPs");
  return addresses.length === 1 && addresses[0] === NO_ADDRESS;
}

export function needsNodePorts(spec: Fields): boolean {
  return ["NodePort", "LoadBalancer"].includes(textAt(spec, "type"));
}

/** Whether traffic may come to it from outside of the cluster. */
export function isOutside(spec: Fields): boolean {
  return needsNodePorts(spec) || (textAt(spec, "type") === "ClusterIP" && listAt(spec, "externalIPs").length > 0);
}

/** Load balancers that send traffic only to nodes with Pods ask the nodes whether they have any. */
export function needsHealthCheck(spec: Fields): boolean {
  return textAt(spec, "type") === "LoadBalancer" && textAt(spec, "externalTrafficPolicy") === "Local";
}
