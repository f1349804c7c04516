/** Istio's gateways: which Pods they are, and what they serve. */
import { Service } from "#api/core";
import type { IstioGateway, IstioServer, KnativeServingSpec } from "#api/knative";
import type { DynamicObject } from "#api/meta";
import { idOf, parseYaml, YamlError } from "#kube";
import { isObject } from "#lib/json";
import { isOf, TransformError, type Transformer, withSpec } from "./objects.ts";
import { withoutOwner } from "./ownership.ts";

const INGRESS_GATEWAY = "knative-ingress-gateway";
const LOCAL_GATEWAY = "knative-local-gateway";
/** What the local gateway was called until 0.20. */
const OLD_LOCAL_GATEWAY = "cluster-local-gateway";
const ISTIO_NAMESPACE = "istio-system";

/** What is wished for by the name of a gateway. */
function wishesFor({ ingress }: KnativeServingSpec, name: string): IstioGateway | undefined {
  if (name === INGRESS_GATEWAY) return ingress?.istio?.[INGRESS_GATEWAY];
  return name === LOCAL_GATEWAY || name === OLD_LOCAL_GATEWAY ? ingress?.istio?.[LOCAL_GATEWAY] : undefined;
}

export function withGateways(spec: KnativeServingSpec): Transformer {
  return (object) => {
    const { group, kind, name } = idOf(object);
    if (kind !== "Gateway" || group !== "networking.istio.io") return object;
    const { selector = {}, servers = [] } = wishesFor(spec, name) ?? {};
    return withSpec(object, {
      ...(Object.keys(selector).length > 0 && { selector }),
      ...(servers.length > 0 && { servers: servers.map((server) => serverOf(server, name)) }),
    });
  };
}

/** Istio numbers the versions of TLS in its API, and spells them in its objects. */
const PROTOCOLS = ["TLS_AUTO", "TLSV1_0", "TLSV1_1", "TLSV1_2", "TLSV1_3"];

function serverOf({ port, tls, ...server }: IstioServer, gateway: string): object {
  const { target_port: targetPort, ...rest } = port ?? {};
  const { minProtocolVersion: least, maxProtocolVersion: most, ...settings } = tls ?? {};
  return {
    ...server,
    ...(port && { port: { ...rest, ...(targetPort !== undefined && { targetPort }) } }),
    ...(tls && {
      tls: {
        ...settings,
        mode: settings.mode || "PASSTHROUGH",
        ...(least !== undefined && { minProtocolVersion: protocolOf(least, gateway) }),
        ...(most !== undefined && { maxProtocolVersion: protocolOf(most, gateway) }),
      },
    }),
  };
}

function protocolOf(version: number, gateway: string): string {
  const name = PROTOCOLS[version];
  if (name !== undefined) return name;
  const choices = PROTOCOLS.map((each, index) => `${index} (${each})`).join(", ");
  throw new TransformError(`gateway ${gateway}: ${version} is no version of TLS; there are ${choices}`);
}

/**
 * The Services before the gateways. The local one lies beside Istio's own Pods, where nothing of ours can own it.
 */
export function withGatewayServices(spec: KnativeServingSpec, installNamespace: string): Transformer {
  return (object) => {
    if (!isOf(object, Service)) return object;
    const { name } = object.metadata;
    if (name !== LOCAL_GATEWAY && name !== INGRESS_GATEWAY) return object;
    const { selector = {} } = wishesFor(spec, name) ?? {};
    const placed = name === LOCAL_GATEWAY ? beside(object, localNamespace(spec, installNamespace)) : object;
    return Object.keys(selector).length > 0 ? withSpec(placed, { selector }) : placed;
  };
}

function beside(object: DynamicObject, namespace: string): DynamicObject {
  const free = withoutOwner(object);
  return { ...free, metadata: { ...free.metadata, namespace } };
}

/** As the configuration of Serving for Istio says, in its newer form or its older one; the longer name has the last word. */
function localNamespace({ config = {} }: KnativeServingSpec, installNamespace: string): string {
  const said = [config.istio, config["config-istio"]].map(
    (data) => data && (listedNamespace(data["local-gateways"]) || legacyNamespace(data, installNamespace)),
  );
  return said.filter(Boolean).at(-1) || ISTIO_NAMESPACE;
}

function listedNamespace(text: string | undefined): string {
  const gateways = text === undefined ? undefined : yamlOr(text);
  const found = Array.isArray(gateways)
    ? gateways.find((gateway) => isObject(gateway) && gateway.name === LOCAL_GATEWAY)
    : undefined;
  return typeof found?.namespace === "string" ? found.namespace : "";
}

/** `knative-local-gateway.istio-system.svc.cluster.local`: the namespace stands behind the first dot. */
function legacyNamespace(data: Readonly<Record<string, string>>, installNamespace: string): string {
  return data[`local-gateway.${installNamespace}.${LOCAL_GATEWAY}`]?.split(".")[1] ?? "";
}

/** What is no YAML says nothing; Serving itself will complain about it. */
function yamlOr(text: string): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    if (error instanceof YamlError) return undefined;
    throw error;
  }
}
