import { describe, expect, it } from "vitest";
import type { Registry } from "#api/knative";
import { configMap, containerOf, nameless, podOf, serving, thing, workload } from "./testing/objects.ts";

const RULE = `example.com/knative/$${"{NAME}"}:v9`;
const image = (registry: Registry, object = workload("controller")) =>
  containerOf(serving({ registry }, [object])[0]).image;
const of = (name: string) => workload("controller", { containers: [{ name: "controller", image: name }] });

describe("[spec.registry.default] is the rule for all images", () => {
  it.each([
    ["gcr.io/knative/cmd/controller@sha256:0123", "example.com/knative/controller:v9", "a digest"],
    ["gcr.io/knative/cmd/queue:v1", "example.com/knative/queue:v9", "a tag"],
    ["gcr.io/knative/cmd/queue:v1@sha256:0123", "example.com/knative/queue:v9", "both"],
    ["localhost:5000/queue", "example.com/knative/queue:v9", "neither, and a port"],
    ["queue:v1", "example.com/knative/controller:v9", "an image without a path goes by the container"],
  ])("for %s gives %s: %s", (before, wanted) => {
    expect(image({ default: RULE }, of(before))).toBe(wanted);
  });

  it("may name the same image for all, and an empty one names none", () => {
    expect(image({ default: "example.com/all:v1" })).toBe("example.com/all:v1");
    expect(image({ default: "" })).toBe("gcr.io/knative/controller:v1");
    expect(image({})).toBe("gcr.io/knative/controller:v1");
  });

  it.each(["Deployment", "StatefulSet", "DaemonSet", "Job"] as const)("reaches a %s", (kind) => {
    expect(image({ default: RULE }, workload("x", { kind }))).toBe("example.com/knative/x:v9");
  });

  it("leaves init containers alone, as ever", () => {
    const before = workload("controller", { pod: { initContainers: [{ name: "i", image: "a/b" }] } });
    expect(podOf(serving({ registry: { default: RULE } }, [before])[0]).initContainers).toEqual([
      { name: "i", image: "a/b" },
    ]);
  });
});

describe("[spec.registry.override] names single images", () => {
  it("goes by object and container, then by container, then by the rule", () => {
    expect(image({ override: { "controller/controller": "a", controller: "b" }, default: RULE })).toBe("a");
    expect(image({ override: { controller: "b" }, default: RULE })).toBe("b");
    expect(image({ override: { "other/controller": "a" }, default: RULE })).toBe("example.com/knative/controller:v9");
    expect(image({ override: { "other/controller": "a" } })).toBe("gcr.io/knative/controller:v1");
  });

  it("goes by the beginning of the name for Jobs", () => {
    const [job] = serving({ registry: { override: { "migrate-/migrate": "a" } } }, [nameless("migrate-")]);
    expect(containerOf(job).image).toBe("a");
  });

  it("reaches images that a program is told of in a variable", () => {
    const env = [
      { name: "DISPATCHER_IMAGE", valueFrom: { fieldRef: {} } },
      { name: "OTHER", value: "x" },
    ];
    const before = workload("c", { containers: [{ name: "c", image: "a/b", env }] });
    const [object] = serving({ registry: { override: { DISPATCHER_IMAGE: "mine" } } }, [before]);
    expect(containerOf(object).env).toEqual([
      { name: "DISPATCHER_IMAGE", value: "mine" },
      { name: "OTHER", value: "x" },
    ]);
  });

  it("means keys and not what every object has", () => {
    const before = workload("constructor", {
      containers: [{ name: "constructor", image: "a/b", env: [{ name: "toString" }] }],
    });
    expect(containerOf(serving({ registry: { override: {} } }, [before])[0])).toEqual({
      name: "constructor",
      image: "a/b",
      env: [{ name: "toString" }],
    });
  });
});

describe("[spec.registry.imagePullSecrets.name] names secrets for all Pods", () => {
  it("come after those of the release, each once", () => {
    const registry = { imagePullSecrets: [{ name: "mine" }, { name: "old" }] };
    const before = workload("c", { pod: { imagePullSecrets: [{ name: "old" }] } });
    expect(podOf(serving({ registry }, [before])[0]).imagePullSecrets).toEqual([{ name: "old" }, { name: "mine" }]);
    expect(podOf(serving({ registry: {} }, [workload("c")])[0])).not.toHaveProperty("imagePullSecrets");
  });
});

describe("cached images", () => {
  const cached = thing("caching.internal.knative.dev/v1alpha1", "Image", "queue-proxy", {
    spec: { image: "gcr.io/knative/queue@sha256:0123", imagePullSecrets: [{ name: "old" }] },
    status: {},
  });
  const imagesAfter = (registry: Registry) => serving({ registry }, [cached])[0];

  it("go by their own name, then by the rule, and lose their status", () => {
    expect(imagesAfter({ override: { "queue-proxy": "mine" }, default: RULE })).toMatchObject({
      spec: { image: "mine" },
    });
    expect(imagesAfter({ default: RULE })).toMatchObject({ spec: { image: "example.com/knative/queue:v9" } });
    expect(imagesAfter({})).toMatchObject({ spec: { image: "gcr.io/knative/queue@sha256:0123" } });
    expect(imagesAfter({})).not.toHaveProperty("status");
  });

  it("get the secrets too", () => {
    expect(imagesAfter({ imagePullSecrets: [{ name: "mine" }] })).toMatchObject({
      spec: { imagePullSecrets: [{ name: "old" }, { name: "mine" }] },
    });
  });

  it("of another system are none of ours", () => {
    const other = thing("image.toolkit.example/v1", "Image", "queue-proxy", { spec: { image: "a/b" } });
    expect(serving({ registry: { default: RULE } }, [other])[0]).toMatchObject({ spec: { image: "a/b" } });
  });
});

describe("the sidecar of users' Pods", () => {
  const KEY = "queue-sidecar-image";
  const before = configMap("config-deployment", { [KEY]: "gcr.io/knative/cmd/queue@sha256:0123", other: "1" });
  const imagesAfter = (registry: Registry, config = {}) =>
    serving({ registry, config }, [before])[0]?.data as Record<string, string>;

  it("comes from the registry too, though upstream forgets it", () => {
    expect(imagesAfter({ default: RULE })).toEqual({ [KEY]: "example.com/knative/queue:v9", other: "1" });
    expect(imagesAfter({ override: { "queue-proxy": "mine" } })[KEY]).toBe("mine");
    expect(imagesAfter({ override: { "config-deployment/queue-proxy": "a", "queue-proxy": "b" } })[KEY]).toBe("a");
    expect(imagesAfter({ override: { [KEY]: "mine" } })[KEY]).toBe("mine");
    expect(imagesAfter({})[KEY]).toBe("gcr.io/knative/cmd/queue@sha256:0123");
  });

  it("is what spec.config says, if it says anything", () => {
    expect(imagesAfter({ default: RULE }, { deployment: { [KEY]: "said" } })[KEY]).toBe("said");
  });

  it("appears in no ConfigMap that has none", () => {
    expect(serving({ registry: { default: RULE } }, [configMap("config-deployment", { a: "1" })])[0]?.data).toEqual({
      a: "1",
    });
  });
});
