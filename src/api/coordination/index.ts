/** The group `coordination.k8s.io/v1`: leases, by which one party shows that it is alive. */
import { type KubeObject, kind } from "#api/meta";

export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    leaseTransitions?: number;
    /** MicroTime. */
    acquireTime?: string;
    /** MicroTime. */
    renewTime?: string;
  };
}
export const Lease = kind<Lease>({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
});
