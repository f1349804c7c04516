/** Where the port of a Service leads on one Pod. */
import type { Container, Pod, ServicePort } from "#api/core";

/** The number of the port, which a Pod may have to be asked for by name; undefined where it has no such port. */
export function targetPort(pod: Pod, { targetPort: target, port, protocol = "TCP" }: ServicePort): number | undefined {
  if (target === undefined) return port;
  if (typeof target === "number") return target;
  return servingContainers(pod)
    .flatMap(({ ports = [] }) => ports)
    .find((offered) => offered.name === target && (offered.protocol ?? "TCP") === protocol)?.containerPort;
}

/** Those that run while the Pod serves: init containers only where they stay. */
function servingContainers({ spec }: Pod): Container[] {
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  return [...spec.containers, ...sidecars];
}
