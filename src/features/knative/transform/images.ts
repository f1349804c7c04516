/** Images from another registry, by name or by a rule for all of them. */
import { ConfigMap, type Container } from "#api/core";
import type { Registry } from "#api/knative";
import { type DynamicObject, type KubeObject, kind } from "#api/meta";
import { isObject } from "#lib/json";
import {
  isOf,
  isWorkload,
  type Transformer,
  type Workload,
  withContainers,
  withData,
  withPod,
  withSpec,
} from "./objects.ts";

interface CachedImage extends KubeObject {
  spec?: { image?: string; imagePullSecrets?: unknown[] };
}
const CachedImage = kind<CachedImage>({
  group: "caching.internal.knative.dev",
  version: "v1alpha1",
  kind: "Image",
  plural: "images",
  namespaced: true,
});

/** The image that Serving puts into the Pods of its users, which is written nowhere but in a ConfigMap. */
const SIDECAR = { configMap: "config-deployment", key: "queue-sidecar-image", container: "queue-proxy" } as const;

export function withImages(registry: Registry = {}): Transformer {
  return (object) => {
    if (isOf(object, CachedImage)) return cachedImage(object, registry);
    if (isOf(object, ConfigMap) && object.metadata.name === SIDECAR.configMap) return sidecarImage(object, registry);
    return isWorkload(object) ? workloadImages(object, registry) : object;
  };
}

function workloadImages(object: Workload, registry: Registry): DynamicObject {
  const owner = object.metadata.generateName || object.metadata.name;
  const changed = withContainers(object, (container) => {
    const { name, image = "", env } = container;
    const next: Container = { ...container, ...imageFrom(registry, [`${owner}/${name}`, name], { image, name }) };
    if (env) next.env = env.map((variable) => withOverride(variable, registry));
    return next;
  });
  const secrets = withSecrets(object.spec.template.spec.imagePullSecrets, registry);
  return secrets ? withPod(changed, { imagePullSecrets: secrets }) : changed;
}

/** Images that a program is told of in a variable go by the name of the variable. */
function withOverride<V extends { name: string }>(
  variable: V,
  { override = {} }: Registry,
): V | { name: string; value: string } {
  const value = own(override, variable.name);
  return value === undefined ? variable : { name: variable.name, value };
}

function cachedImage(object: CachedImage & DynamicObject, registry: Registry): DynamicObject {
  const { status: _, ...rest }: DynamicObject = object;
  const { name } = object.metadata;
  const { image = "", imagePullSecrets } = object.spec ?? {};
  const secrets = withSecrets(imagePullSecrets, registry);
  return withSpec(rest as DynamicObject, {
    ...imageFrom(registry, [name], { image, name }),
    ...(secrets && { imagePullSecrets: secrets }),
  });
}

function sidecarImage(object: ConfigMap & DynamicObject, registry: Registry): DynamicObject {
  const image = object.data?.[SIDECAR.key];
  if (image === undefined) return object;
  const { container: name } = SIDECAR;
  const { image: found } = imageFrom(registry, [`${SIDECAR.configMap}/${name}`, name, SIDECAR.key], { image, name });
  return found === undefined ? object : withData(object, { [SIDECAR.key]: found });
}

/** The image by one of the keys, else by the rule for all; nothing where neither speaks of it. */
function imageFrom(
  { override = {}, default: rule = "" }: Registry,
  keys: readonly string[],
  { image, name }: { readonly image: string; readonly name: string },
): { image?: string } {
  for (const key of keys) {
    const found = own(override, key);
    if (found !== undefined) return { image: found };
  }
  return rule === "" ? {} : { image: rule.replace(/\$\{NAME\}/g, () => lastPart(image) || name) };
}

/** `queue` of `gcr.io/knative-releases/queue@sha256:…`; nothing where an image has no path. */
function lastPart(image: string): string {
  return image.includes("/") ? (image.split("/").at(-1) ?? "").replace(/[:@].*$/, "") : "";
}

function own(map: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** Each once: a list with the same name twice cannot be applied. Nothing where none are added. */
function withSecrets(present: unknown, { imagePullSecrets = [] }: Registry): unknown[] | undefined {
  if (imagePullSecrets.length === 0) return undefined;
  const all = [...(Array.isArray(present) ? present : []), ...imagePullSecrets];
  return [...new Map(all.map((secret: unknown) => [isObject(secret) ? secret.name : secret, secret])).values()];
}
