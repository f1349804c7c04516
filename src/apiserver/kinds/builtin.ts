import type { Resource } from "../resource.ts";
import { appsResources } from "./apps.ts";
import { authenticationResources } from "./authentication.ts";
import { authorizationResources } from "./authorization.ts";
import { autoscalingResources } from "./autoscaling.ts";
import { batchResources } from "./batch.ts";
import { certificatesResources } from "./certificates.ts";
import { coordinationResources } from "./coordination.ts";
import { coreResources } from "./core.ts";
import type { KindDependencies } from "./dependencies.ts";
import { renamedEvents } from "./events.ts";
import { networkingResources } from "./networking.ts";
import { rbacResources } from "./rbac.ts";
import { serverExtensionResources } from "./server-extension.ts";
import { storageResources } from "./storage.ts";

/** Every built-in resource but CustomResourceDefinition, in the order in which discovery shows the groups. */
export function builtinResources(dependencies: KindDependencies): Resource[] {
  return [
    ...coreResources(dependencies),
    ...appsResources,
    renamedEvents,
    ...authenticationResources(dependencies),
    ...authorizationResources(dependencies),
    ...autoscalingResources,
    ...batchResources,
    ...certificatesResources(dependencies),
    ...networkingResources,
    ...rbacResources,
    ...storageResources,
    ...coordinationResources,
    ...serverExtensionResources,
  ];
}
