import type { DynamicObject } from "#api/meta";
import { piecesOf } from "./pieces.ts";

/** The ingress of one version: a controller, and the gateway that it steers. */
export function kourierFiles(version: string): Record<string, DynamicObject[]> {
  const system = piecesOf(version, "kourier-system");
  const serving = piecesOf(version, "knative-serving");
  return {
    "kourier.yaml": [
      system.thing({ apiVersion: "v1", kind: "Namespace" }, "kourier-system", {}, true),
      system.configMap("kourier-bootstrap", {
        "envoy-bootstrap.yaml": "dynamic_resources:\n  ads_config: net-kourier-controller.knative-serving:18000\n",
      }),
      serving.configMap("config-kourier", { "enable-service-access-logging": "true" }),
      serving.deployment("net-kourier-controller", {
        env: [{ name: "KOURIER_GATEWAY_NAMESPACE", value: "kourier-system" }],
      }),
      serving.service("net-kourier-controller", "net-kourier-controller", [
        { name: "grpc-xds", port: 18_000, targetPort: 18_000 },
      ]),
      system.deployment("3scale-kourier-gateway", {
        volumes: [{ name: "config-volume", configMap: { name: "kourier-bootstrap" } }],
      }),
      system.autoscaler("3scale-kourier-gateway", { minReplicas: 1, maxReplicas: 10 }),
      system.service(
        "kourier",
        "3scale-kourier-gateway",
        [
          { name: "http2", port: 80, targetPort: 8080 },
          { name: "https", port: 443, targetPort: 8443 },
        ],
        "LoadBalancer",
      ),
      system.service("kourier-internal", "3scale-kourier-gateway", [{ name: "http2", port: 80, targetPort: 8081 }]),
    ],
  };
}
