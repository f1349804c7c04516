/**
 * What an update of a Service means where it does not say: what was given is kept while the type needs it, and
 * goes with the type. Whoever changes a field in the same breath is taken at his word, and refused if it cannot be.
 */
import type { DynamicObject } from "#api/meta";
import { clone, equal, isObject } from "#lib/json";
import { ensure, type Fields, listAt, numberAt, objectsAt, textAt, textsAt } from "./fields.ts";
import { isOutside, needsAddress, needsHealthCheck, needsNodePorts } from "./service-types.ts";

/** Addresses and ports that the update does not mention are those that the Service has. */
export function keepGiven(spec: Fields, before: Fields): void {
  if (needsAddress(before) && needsAddress(spec)) {
    if (!textAt(spec, "clusterIP")) spec.clusterIP = textAt(before, "clusterIP");
    if (listAt(spec, "clusterIPs").length === 0) spec.clusterIPs = textsAt(before, "clusterIPs");
  }
  if (hasNodePorts(before) && hasNodePorts(spec)) keepNodePorts(spec, before);
  if (needsHealthCheck(before) && needsHealthCheck(spec) && !spec.healthCheckNodePort) {
    spec.healthCheckNodePort = before.healthCheckNodePort;
  }
}

function hasNodePorts(spec: Fields): boolean {
  return needsNodePorts(spec) && (spec.type === "NodePort" || spec.allocateLoadBalancerNodePorts !== false);
}

/** Ports are known by their name; everything else of them may change. */
function keepNodePorts(spec: Fields, before: Fields): void {
  const mentioned = new Set(nodePortsOf(spec));
  const byName = new Map(objectsAt(before, "ports").map((port) => [textAt(port, "name"), numberAt(port, "nodePort")]));
  for (const port of objectsAt(spec, "ports")) {
    const known = byName.get(textAt(port, "name"));
    if (!port.nodePort && known && !mentioned.has(known)) port.nodePort = known;
  }
}

function nodePortsOf(spec: Fields): number[] {
  return objectsAt(spec, "ports").flatMap((port) => numberAt(port, "nodePort") || []);
}

/** One address may be named in the singular, as old clients do, or in both ways; the plural alone is an error. */
export function agreeOnAddresses(spec: Fields, before: Fields | undefined): void {
  const [singular, plural] = [textAt(spec, "clusterIP"), textsAt(spec, "clusterIPs")];
  if (!before) {
    if (singular && plural.length === 0) spec.clusterIPs = [singular];
    return;
  }
  if (singular === textAt(before, "clusterIP") || !equal(plural, textsAt(before, "clusterIPs"))) return;
  if (singular) spec.clusterIPs = [singular];
  else delete spec.clusterIPs;
}

/** Takes away what the new type has no use for, unless the update changes it. */
export function dropUseless(spec: Fields, before: Fields): void {
  const same = (key: string) => equal(spec[key], before[key]);
  if (needsAddress(before) && !needsAddress(spec)) {
    if (same("clusterIP") && same("clusterIPs")) drop(spec, "clusterIP", "clusterIPs");
    for (const key of ["ipFamilies", "ipFamilyPolicy"]) if (same(key)) drop(spec, key);
  }
  if (needsNodePorts(before) && !needsNodePorts(spec)) {
    const known = new Set(nodePortsOf(before));
    if (nodePortsOf(spec).every((port) => known.has(port))) {
      for (const port of objectsAt(spec, "ports")) drop(port, "nodePort");
    }
  }
  if (needsHealthCheck(before) && !needsHealthCheck(spec) && same("healthCheckNodePort")) {
    drop(spec, "healthCheckNodePort");
  }
  if (before.type === "LoadBalancer" && spec.type !== "LoadBalancer") {
    for (const key of ["allocateLoadBalancerNodePorts", "loadBalancerClass"]) if (same(key)) drop(spec, key);
  }
  if (isOutside(before) && !isOutside(spec) && same("externalTrafficPolicy")) drop(spec, "externalTrafficPolicy");
}

function drop(fields: Fields, ...keys: string[]): void {
  for (const key of keys) delete fields[key];
}

/** Nobody balances the load of a Service that does not ask for it. */
export function dropBalancer(draft: DynamicObject): void {
  if (textAt(draft, "spec", "type") === "LoadBalancer" || !isObject(draft.status)) return;
  if (listAt(draft.status, "loadBalancer", "ingress").length === 0) return;
  draft.status = clone(draft.status); // it is the stored one
  ensure(draft, "status").loadBalancer = {};
}
