/**
 * The server's side of kubelets: it knows where each node answers, shows it a certificate, and hands on the logs of
 * containers. Nodes are found by what they say of themselves in their status, whoever runs them.
 */
export { createKubelets, type KubeletDependencies, type Kubelets } from "./kubelets.ts";
