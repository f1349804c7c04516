/** What kube-controller-manager, a cloud and the API server itself do for Services. */
import type { ControllerParts } from "../manager.ts";
import type { ServerController } from "../runner.ts";
import { endpointSliceMirroringController } from "./endpoint-slice-mirroring.controller.ts";
import { endpointSlicesController } from "./endpoint-slices.controller.ts";
import { endpointsController } from "./endpoints.controller.ts";
import { ipAddressesController } from "./ip-addresses.controller.ts";
import { kubernetesServiceController } from "./kubernetes-service.controller.ts";
import { loadBalancerController } from "./load-balancer.controller.ts";
import { serviceRangesController } from "./service-ranges.controller.ts";

export function serviceControllers(
  parts: Pick<ControllerParts, "store" | "writer" | "clock" | "teller" | "ownService">,
): readonly ServerController[] {
  return [
    endpointSlicesController(parts),
    endpointsController(parts),
    endpointSliceMirroringController(parts),
    loadBalancerController(parts),
    ipAddressesController(parts),
    serviceRangesController(parts),
    kubernetesServiceController(parts),
  ];
}
