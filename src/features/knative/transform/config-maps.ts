import { ConfigMap } from "#api/core";
import type { KnativeSpec } from "#api/knative";
import { isOf, type Transformer, withData } from "./objects.ts";

const PREFIX = "config-";

/** What `spec.config` says of a ConfigMap, by its name with or without the prefix that most of them have. */
export function configFor(
  { config = {} }: Pick<KnativeSpec, "config">,
  name: string,
): Readonly<Record<string, string>> | undefined {
  if (Object.hasOwn(config, name)) return config[name];
  const short = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : undefined;
  return short !== undefined && Object.hasOwn(config, short) ? config[short] : undefined;
}

export function configured(spec: KnativeSpec): Transformer {
  return (object) => {
    const wanted = isOf(object, ConfigMap) ? configFor(spec, object.metadata.name) : undefined;
    return wanted && Object.keys(wanted).length > 0 ? withData(object, wanted) : object;
  };
}
