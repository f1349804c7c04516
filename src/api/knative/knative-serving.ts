/** KnativeServing: one installation of Knative Serving, here or on another cluster. */
import { type KubeObject, kind } from "#api/meta";
import { boolean, type Infer, int32, list, mapOf, object, oneOf, optional, string } from "#api/schema";
import { CLUSTER_IS_KEPT, commonFields, type KnativeStatus } from "./common-spec.ts";
import { definition } from "./definition.ts";
import { KNATIVE_GROUP } from "./names.ts";

const strings = optional(list(string()));

/** A server of an Istio Gateway, in Istio's spelling, which has a snake in it. */
const istioServer = object({
  bind: optional(string()),
  defaultEndpoint: optional(string()),
  hosts: strings,
  name: optional(string()),
  port: optional(
    object({
      name: optional(string()),
      number: optional(int32()),
      protocol: optional(string()),
      target_port: optional(int32()),
    }),
  ),
  tls: optional(
    object({
      caCertificates: optional(string()),
      cipherSuites: strings,
      credentialName: optional(string()),
      httpsRedirect: optional(boolean()),
      maxProtocolVersion: optional(int32()),
      minProtocolVersion: optional(int32()),
      mode: optional(oneOf(["PASSTHROUGH", "SIMPLE", "MUTUAL", "AUTO_PASSTHROUGH", "ISTIO_MUTUAL"])),
      privateKey: optional(string()),
      serverCertificate: optional(string()),
      subjectAltNames: strings,
      verifyCertificateHash: strings,
      verifyCertificateSpki: strings,
    }),
  ),
});
export type IstioServer = Infer<typeof istioServer>;

const istioGateway = object({ selector: optional(mapOf(string())), servers: optional(list(istioServer)) });
export type IstioGateway = Infer<typeof istioGateway>;

const enabled = optional(boolean());

const kourier = object({
  "bootstrap-configmap": optional(string()),
  enabled,
  "http-port": optional(int32()),
  "https-port": optional(int32()),
  "service-load-balancer-ip": optional(string()),
  "service-type": optional(string()),
});
export type Kourier = Infer<typeof kourier>;

const ingress = object({
  contour: optional(object({ enabled })),
  "gateway-api": optional(object({ enabled })),
  istio: optional(
    object({
      enabled,
      "knative-ingress-gateway": optional(istioGateway),
      "knative-local-gateway": optional(istioGateway),
    }),
  ),
  kourier: optional(kourier),
});

const spec = object(
  {
    ...commonFields,
    "controller-custom-certs": optional(object({ name: string(), type: string() })),
    ingress: optional(ingress),
    security: optional(object({ securityGuard: object({ enabled: boolean() }) })),
  },
  { "x-kubernetes-validations": CLUSTER_IS_KEPT },
);
export type KnativeServingSpec = Infer<typeof spec>;

export interface KnativeServing extends KubeObject {
  spec?: KnativeServingSpec;
  status?: KnativeStatus;
}
export const KnativeServing = kind<KnativeServing>({
  group: KNATIVE_GROUP,
  version: "v1beta1",
  kind: "KnativeServing",
  plural: "knativeservings",
  namespaced: true,
});

export const knativeServingCrd = definition({ kind: "KnativeServing", plural: "knativeservings", spec });
