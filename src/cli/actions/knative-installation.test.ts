import { describe, expect, it } from "vitest";
import { KnativeServing, type KnativeServingSpec } from "#api/knative";
import { apiVersionOf } from "#api/meta";
import { kindOf, type Meant, wished } from "./knative-installation.ts";

const ref = { namespace: "fleet-system", name: "cluster1" };
const meant = (spec?: KnativeServingSpec, component: "serving" | "eventing" = "serving"): Meant => ({
  kind: kindOf(component),
  namespace: "ns",
  name: "n",
  ref,
  existing: spec && {
    apiVersion: apiVersionOf(KnativeServing),
    kind: "KnativeServing",
    metadata: { namespace: "ns", name: "n", uid: "u" },
    spec,
  },
});
const KOURIER = { network: { "ingress-class": "kourier.ingress.networking.knative.dev" } };

describe("what is asked for", () => {
  it("has the ingress that needs nothing else, unless another is named", () => {
    expect(wished(meant(), {}).spec).toEqual({
      clusterProfileRef: ref,
      ingress: { kourier: { enabled: true } },
      config: KOURIER,
    });
    expect(wished(meant(), { ingress: "none" }).spec).toEqual({
      clusterProfileRef: ref,
      ingress: { istio: { enabled: false } },
    });
    expect(wished(meant(undefined, "eventing"), { version: "1.23" }).spec).toEqual({
      clusterProfileRef: ref,
      version: "1.23",
    });
  });

  it("keeps what the flags do not speak of", () => {
    const spec = { clusterProfileRef: ref, ingress: { istio: { enabled: true } }, config: { a: { b: "c" } } };
    const object = wished(meant(spec), { version: "1.22" });
    expect(object.spec).toEqual({ ...spec, version: "1.22" });
    expect(object.metadata.uid).toBe("u");
  });

  it("turns other ingresses off without losing how they were set up", () => {
    const spec = {
      clusterProfileRef: ref,
      ingress: { kourier: { enabled: true, "service-type": "NodePort" } },
      config: { ...KOURIER, a: { b: "c" } },
    };
    expect(wished(meant(spec), { ingress: "istio" }).spec).toEqual({
      clusterProfileRef: ref,
      ingress: { kourier: { enabled: false, "service-type": "NodePort" }, istio: { enabled: true } },
      config: { network: { "ingress-class": "istio.ingress.networking.knative.dev" }, a: { b: "c" } },
    });
  });
});
