import { ConfigMap } from "#api/core";
import type { KnativeEventingSpec } from "#api/knative";
import { parseYaml, YamlError, yamlText } from "#kube";
import { isObject } from "#lib/json";
import { isOf, TransformError, type Transformer, withData } from "./objects.ts";

const CONFIG_MAP = "config-br-defaults";
const KEY = "default-br-config";
const DEFAULT_CLASS = "MTChannelBasedBroker";

/** The class of brokers that name none, unless `spec.config` says it already. */
export function withBrokerClass({ config = {}, defaultBrokerClass }: KnativeEventingSpec): Transformer {
  const isSaid = ["br-defaults", CONFIG_MAP].some((name) => config[name]?.[KEY]?.includes("brokerClass:"));
  return (object) => {
    if (isSaid || !isOf(object, ConfigMap) || object.metadata.name !== CONFIG_MAP) return object;
    const defaults = parsed(object.data?.[KEY]);
    const clusterDefault = {
      ...(isObject(defaults.clusterDefault) ? defaults.clusterDefault : {}),
      brokerClass: defaultBrokerClass || DEFAULT_CLASS,
    };
    return withData(object, { [KEY]: yamlText(sorted({ ...defaults, clusterDefault })) });
  };
}

function parsed(text: string | undefined): Record<string, unknown> {
  if (!text) throw new TransformError(`ConfigMap ${CONFIG_MAP} is missing (or empty) key: "${KEY}"`);
  try {
    const value = parseYaml(text);
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new TransformError(`${KEY} of ConfigMap ${CONFIG_MAP} is no YAML: ${error.message}`);
  }
  throw new TransformError(`${KEY} of ConfigMap ${CONFIG_MAP} is no map`);
}

/** With sorted keys, as upstream writes it: the same defaults are the same text. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
