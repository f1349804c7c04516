/** Kubeconfigs and what Pods are given: from files to a connection, and back to files. */
export { type Connection, type ConnectionOptions, connectionOf, inClusterConnection } from "./connection.ts";
export { type DefaultConnectionOptions, defaultConnection } from "./default.ts";
export { fileToken } from "./identity.ts";
export { type KubeconfigSource, loadKubeconfig, type ReadText } from "./load.ts";
export {
  type Kubeconfig,
  type KubeconfigCluster,
  type KubeconfigContext,
  KubeconfigError,
  type KubeconfigUser,
  kubeconfigFor,
  type Material,
  mergeKubeconfigs,
} from "./model.ts";
export { parseKubeconfig } from "./parse.ts";
export { kubeconfigText, writeKubeconfig } from "./text.ts";
