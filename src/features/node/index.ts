/**
 * Nodes where there is no kubelet: each registers with an API server and takes Pods. Those of Capstan's own image run as
 * real programs; all others are a simulation that kubectl cannot tell from the real thing until it looks at their logs.
 */
export type { PodRunner } from "./kubelet/runner.ts";
export { type NodesOptions, type OwnImage, runNodes } from "./node.ts";
export type { ProgramContext, RunProgram } from "./programs/program.ts";
