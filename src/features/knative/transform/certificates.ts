import { Deployment } from "#api/apps";
import type { KnativeServingSpec } from "#api/knative";
import { isWorkload, TransformError, type Transformer, withContainers, withEnv, withPod } from "./objects.ts";

const PLACE = "/custom-certs";

/** Certificates that Serving's controller trusts when it asks registries for digests. */
export function withCertificates({ "controller-custom-certs": wanted }: KnativeServingSpec): Transformer {
  return (object) => {
    // A server never stores one half of it, and without both nothing is meant.
    if (!wanted || (wanted.name === "" && wanted.type === "")) return object;
    if (!isWorkload(object, [Deployment]) || object.metadata.name !== "controller") return object;
    const name = `custom-certs-${wanted.name}`;
    const volume = { name, ...sourceOf(wanted) };
    const { containers, volumes } = object.spec.template.spec;
    const [first] = containers;
    const mounted = withContainers(object, (container) => {
      if (container !== first) return container;
      const { volumeMounts = [] } = container;
      const mounts = { volumeMounts: [...volumeMounts, { name, mountPath: PLACE }] };
      return { ...withEnv(container, [{ name: "SSL_CERT_DIR", value: PLACE }]), ...mounts };
    });
    return withPod(mounted, { volumes: [...(Array.isArray(volumes) ? volumes : []), volume] });
  };
}

function sourceOf({ type, name }: { readonly type: string; readonly name: string }): object {
  if (type !== "ConfigMap" && type !== "Secret") throw new TransformError(`unknown CustomCerts type: ${type}`);
  if (name === "") throw new TransformError(`the CustomCerts name for ${type} is required`);
  return type === "ConfigMap" ? { configMap: { name } } : { secret: { secretName: name } };
}
