/**
 * An embedded Kubernetes API server: clusters that keep their state on disk and that kubectl, client-go and Helm
 * take for real ones. Nothing outside of this folder knows how it works; everybody talks to it by HTTPS.
 */
export type { AuditEvent } from "./audit/index.ts";
export { PortTaken } from "./binding.ts";
export { type ClusterOptions, type EmbeddedCluster, type InProcessServer, openCluster } from "./cluster.ts";
export { IdentityError } from "./identity.ts";
export { openSharedPort, type SharedPort } from "./shared-port.ts";
export {
  DirectoryInUse,
  type Durability,
  holderOfDirectory,
  lockDirectory,
  StoreDamaged,
  StoreError,
} from "./store/index.ts";
