/** Kourier: where its gateway is, and how it is reached. */
import { Deployment } from "#api/apps";
import { ConfigMap, Service } from "#api/core";
import type { Kourier } from "#api/knative";
import type { DynamicObject } from "#api/meta";
import {
  changedAt,
  isOf,
  isWorkload,
  TransformError,
  type Transformer,
  withContainers,
  withData,
  withPod,
  withSpec,
} from "./objects.ts";

/** Today's controller, and what it was called before. */
const CONTROLLERS: readonly string[] = ["net-kourier-controller", "3scale-kourier-control"];
const NAMESPACE_VARIABLE = "KOURIER_GATEWAY_NAMESPACE";
const GATEWAY = "3scale-kourier-gateway";
const SERVICE = "kourier";
const BOOTSTRAP = "kourier-bootstrap";
const BOOTSTRAP_KEY = "envoy-bootstrap.yaml";
/** The namespace that the bootstrap of a release speaks of. */
const RELEASE_NAMESPACE = "knative-serving";

export function withKourier(wishes: Kourier): Transformer {
  return (object) => {
    const { name, namespace = "" } = object.metadata;
    if (isOf(object, ConfigMap)) return name === BOOTSTRAP ? bootstrapIn(object, namespace) : object;
    if (isOf(object, Service)) return name === SERVICE ? gatewayService(object, wishes) : object;
    if (!isWorkload(object, [Deployment])) return object;
    if (name === GATEWAY) return withBootstrap(object, wishes["bootstrap-configmap"]);
    return CONTROLLERS.includes(name) ? knowing(object, namespace) : object;
  };
}

/** The controller knows where the gateway is. */
function knowing(object: DynamicObject, namespace: string): DynamicObject {
  if (!isWorkload(object)) return object;
  return withContainers(object, (container) => {
    const env = container.env?.map((variable) =>
      variable.name === NAMESPACE_VARIABLE ? { name: variable.name, value: namespace } : variable,
    );
    return env ? { ...container, env } : container;
  });
}

function bootstrapIn(object: ConfigMap & DynamicObject, namespace: string): DynamicObject {
  const text = object.data?.[BOOTSTRAP_KEY];
  return text === undefined
    ? object
    : withData(object, { [BOOTSTRAP_KEY]: text.replaceAll(RELEASE_NAMESPACE, () => namespace) });
}

function withBootstrap(object: DynamicObject, configMap: string | undefined): DynamicObject {
  if (!configMap || !isWorkload(object)) return object;
  const { volumes } = object.spec.template.spec;
  const renamed = changedAt(volumes, ["*", "configMap", "name"], (name) => (name === BOOTSTRAP ? configMap : name));
  return withPod(object, { volumes: renamed });
}

const TYPES: readonly string[] = ["ClusterIP", "LoadBalancer", "NodePort"];

function gatewayService(object: Service & DynamicObject, wishes: Kourier): DynamicObject {
  const { "service-type": wanted = "", "service-load-balancer-ip": address = "" } = wishes;
  const { "http-port": http = 0, "https-port": https = 0 } = wishes;
  if (wanted === "ExternalName") throw new TransformError(`unsupported service type "${wanted}"`);
  if (wanted !== "" && !TYPES.includes(wanted)) throw new TransformError(`unknown service type "${wanted}"`);

  const type = wanted || (object.spec?.type ?? "ClusterIP");
  if (address !== "" && type !== "LoadBalancer") {
    throw new TransformError(`cannot configure LoadBalancerIP for service type "${type}"`);
  }
  if ((http > 0 || https > 0) && type !== "NodePort") {
    throw new TransformError(`cannot configure HTTP(S)Port for service type "${type}"`);
  }
  const ports = object.spec?.ports?.map((port) => {
    const nodePort = port.name === "https" ? https : http;
    return nodePort > 0 ? { ...port, nodePort } : port;
  });
  return withSpec(object, {
    ...(wanted !== "" && { type }),
    ...(address !== "" && { loadBalancerIP: address }),
    ...(ports && { ports }),
  });
}
