/** Knative on any cluster: the operator of the hub, and the releases that it installs. */
export * from "./demonstration/index.ts";
export * from "./hub/index.ts";
export * from "./releases/index.ts";
