import { Job } from "#api/batch";
import { isWorkload, type Transformer, withTemplate } from "./objects.ts";

const ISTIO_INJECTION = "sidecar.istio.io/inject";

/**
 * One Job per version: a Job cannot be changed, so another version needs another name. Its Pods get no sidecar of
 * Istio, which would run on when the Job is done.
 */
export function namedByVersion(component: "serving" | "eventing", version: string): Transformer {
  return (object) => {
    if (!isWorkload(object, [Job])) return object;
    const { name, generateName = "" } = object.metadata;
    const named = `${name ? `${name}-` : generateName}${component}-${version}`;
    return withTemplate({ ...object, metadata: { ...object.metadata, name: named } }, (template) => {
      const labels = template.metadata?.labels;
      if (labels?.[ISTIO_INJECTION]) return template;
      return { ...template, metadata: { ...template.metadata, labels: { ...labels, [ISTIO_INJECTION]: "false" } } };
    });
  };
}
