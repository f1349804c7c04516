/**
 * Which Pods may be on which nodes, by what both say themselves: taints and tolerations, node selectors and required
 * node affinity. Whoever places Pods, keeps daemons on nodes or evicts from them asks here, so that all agree.
 */
export { matchesNode } from "./node-affinity.ts";
export { toleratedFor, tolerates, untoleratedTaints } from "./tolerations.ts";
