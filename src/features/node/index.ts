/**
 * Nodes where there is no kubelet: each registers with an API server, takes Pods, and runs them as a simulation that
 * kubectl cannot tell from the real thing until it looks at their logs.
 */
export type { PodRunner } from "./kubelet/runner.ts";
export { type NodesOptions, runNodes } from "./node.ts";
