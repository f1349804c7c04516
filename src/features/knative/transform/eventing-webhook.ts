import { Deployment } from "#api/apps";
import type { KnativeEventingSpec } from "#api/knative";
import { isWorkload, type Transformer, withContainers, withEnv } from "./objects.ts";

const WEBHOOK = "eventing-webhook";
const VARIABLE = "SINK_BINDING_SELECTION_MODE";
const DEFAULT_MODE = "exclusion";

/** Which namespaces and objects sink bindings apply to: all but those marked, or only those marked. */
export function withSelectionMode(spec: KnativeEventingSpec): Transformer {
  const value = spec.sinkBindingSelectionMode || overriddenMode(spec) || DEFAULT_MODE;
  return (object) =>
    isWorkload(object, [Deployment]) && object.metadata.name === WEBHOOK
      ? withContainers(object, (container) => withEnv(container, [{ name: VARIABLE, value }]))
      : object;
}

/** The newer list first: here, other than everywhere else, the first word counts. */
function overriddenMode({ workloads = [], deployments = [] }: KnativeEventingSpec): string | undefined {
  return [...workloads, ...deployments]
    .filter(({ name }) => name === WEBHOOK)
    .flatMap(({ env = [] }) => env.filter(({ container }) => container === WEBHOOK))
    .flatMap(({ envVars = [] }) => envVars)
    .find(({ name }) => name === VARIABLE)?.value;
}
