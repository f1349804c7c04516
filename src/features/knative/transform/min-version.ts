import { isWorkload, type Transformer, withEnv, withPod } from "./objects.ts";

const VARIABLE = "KUBERNETES_MIN_VERSION";

/** Knative's programs refuse clusters older than they know; whoever installs them may know better. */
export function withMinVersion(version: string | undefined): Transformer {
  return (object) => {
    if (!version || !isWorkload(object)) return object;
    const { containers, initContainers } = object.spec.template.spec;
    const set = (all: typeof containers) => all.map((each) => withEnv(each, [{ name: VARIABLE, value: version }]));
    return withPod(object, {
      containers: set(containers),
      ...(initContainers && { initContainers: set(initContainers) }),
    });
  };
}
