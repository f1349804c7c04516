/** What a container asks of its node. */
import type { ResourceRequirement } from "#api/operator";

export type ContainerResources = NonNullable<ResourceRequirement["resourceRequirements"]>;

/** Enough to be scheduled with, and little enough for a laptop; upstream asks for the same. */
const LITTLE: ContainerResources = { requests: { cpu: "2m", memory: "16Mi" } };

export function resourcesOf(requirement: ResourceRequirement | undefined): ContainerResources {
  switch (requirement?.type) {
    case "BestEffort":
      return {};
    case "ResourceRequirement":
      return requirement.resourceRequirements ?? {};
    default:
      return LITTLE;
  }
}
