import { describe, expect, it } from "vitest";
import type { Deployment } from "#api/apps";
import type { KnativeEventingSpec } from "#api/knative";
import { withoutEncryption } from "./index.ts";
import { configMap, containerOf, eventing, seen, thing, workload } from "./testing/objects.ts";

describe("[spec.defaultBrokerClass] is the class of brokers without one", () => {
  const DEFAULTS =
    "clusterDefault:\n  brokerClass: Old\n  apiVersion: v1\n  kind: ConfigMap\n  name: c\n  delivery:\n    retry: 10\n    backoffDelay: PT0.2S\n";
  const text = (spec: KnativeEventingSpec, before = DEFAULTS) => {
    const [object] = eventing(spec, [configMap("config-br-defaults", { "default-br-config": before })]);
    return (object as { data?: Record<string, string> } | undefined)?.data?.["default-br-config"];
  };

  it("is written with sorted keys, and everything else stays", () => {
    expect(text({ defaultBrokerClass: "Kafka" })).toBe(
      "clusterDefault:\n  apiVersion: v1\n  brokerClass: Kafka\n  delivery:\n    backoffDelay: PT0.2S\n    retry: 10\n  kind: ConfigMap\n  name: c\n",
    );
  });

  it("is the channel based one unless told", () => {
    expect(text({})).toContain("brokerClass: MTChannelBasedBroker");
    expect(text({ defaultBrokerClass: "" })).toContain("brokerClass: MTChannelBasedBroker");
    expect(text({}, "namespaceDefaults: {}\n")).toBe(
      "clusterDefault:\n  brokerClass: MTChannelBasedBroker\nnamespaceDefaults: {}\n",
    );
  });

  it.each(["br-defaults", "config-br-defaults"])("gives way to spec.config[%s]", (name) => {
    const said = "clusterDefault:\n  brokerClass: Said\n";
    expect(text({ defaultBrokerClass: "Kafka", config: { [name]: { "default-br-config": said } } })).toBe(said);
  });

  it("is put into what spec.config says without a class", () => {
    const config = { "br-defaults": { "default-br-config": "clusterDefault:\n  name: mine\n" } };
    expect(text({ config })).toBe("clusterDefault:\n  brokerClass: MTChannelBasedBroker\n  name: mine\n");
  });

  it.each([
    ["", 'ConfigMap config-br-defaults is missing (or empty) key: "default-br-config"'],
    ["a: [", "default-br-config of ConfigMap config-br-defaults is no YAML"],
    ["- a", "default-br-config of ConfigMap config-br-defaults is no map"],
  ])("in %j is a mistake: %s", (before, problem) => {
    expect(() => text({}, before)).toThrow(problem);
  });
});

describe("[spec.sinkBindingSelectionMode] says what sink bindings apply to", () => {
  const NAME = "SINK_BINDING_SELECTION_MODE";
  const override = (value: string, container = "eventing-webhook") => [
    { name: "eventing-webhook", env: [{ container, envVars: [{ name: NAME, value }] }] },
  ];
  const mode = (spec: KnativeEventingSpec, containers: object[] = [{ name: "eventing-webhook" }]) =>
    containerOf(eventing(spec, [workload("eventing-webhook", { containers })])[0]).env;

  it.each<[KnativeEventingSpec, string, string]>([
    [{}, "exclusion", "nothing is said"],
    [{ sinkBindingSelectionMode: "" }, "exclusion", "nothing is said"],
    [{ sinkBindingSelectionMode: "inclusion" }, "inclusion", "the field says so"],
    [
      { sinkBindingSelectionMode: "inclusion", workloads: override("exclusion") },
      "inclusion",
      "the field has the last word",
    ],
    [{ workloads: override("inclusion") }, "inclusion", "an override says so"],
    [{ deployments: override("inclusion") }, "inclusion", "an override of the older list says so"],
    [
      { workloads: override("inclusion"), deployments: override("exclusion") },
      "inclusion",
      "of two overrides the newer list's counts",
    ],
    [{ workloads: override("inclusion", "other") }, "exclusion", "the override is for another container"],
  ])("%j: %s, because %s", (spec, value) => {
    expect(mode(spec)).toEqual([{ name: NAME, value }]);
  });

  it("replaces the one of the release, in its place", () => {
    const env = [
      { name: "A", value: "1" },
      { name: NAME, value: "exclusion" },
      { name: "B", value: "2" },
    ];
    expect(mode({ sinkBindingSelectionMode: "inclusion" }, [{ name: "eventing-webhook", env }])).toEqual([
      { name: "A", value: "1" },
      { name: NAME, value: "inclusion" },
      { name: "B", value: "2" },
    ]);
  });

  it("is for the webhook only, but for all its containers", () => {
    expect(containerOf(eventing({}, [workload("other")])[0])).not.toHaveProperty("env");
    const [object] = eventing({}, [workload("eventing-webhook", { containers: [{ name: "a" }, { name: "b" }] })]);
    expect(containerOf(object, 1).env).toEqual([{ name: NAME, value: "exclusion" }]);
  });
});

describe("the ping adapter", () => {
  const release = workload("pingsource-mt-adapter", {
    spec: { replicas: 0 },
    containers: [
      {
        name: "dispatcher",
        env: [
          { name: "SYSTEM_NAMESPACE", value: "" },
          { name: "K_SINK_TIMEOUT", value: "" },
          { name: "NEW", value: "1" },
        ],
      },
    ],
  });
  const live = (containers: object[], replicas: number | undefined = 2) =>
    workload("pingsource-mt-adapter", { spec: { replicas }, containers }) as unknown as Deployment;

  it("keeps what Eventing made of it", () => {
    const env = [
      { name: "K_SINK_TIMEOUT", value: "5" },
      { name: "OLD", value: "1" },
      { name: "NAMESPACE", value: "x" },
    ];
    const [object] = eventing({}, [release], { pingAdapter: live([{ name: "dispatcher", env }, { name: "gone" }]) });
    expect(seen(object).replicas).toBe(2);
    expect(containerOf(object).env).toEqual([
      { name: "K_SINK_TIMEOUT", value: "5" },
      { name: "NAMESPACE", value: "x" },
      { name: "SYSTEM_NAMESPACE", value: "" },
      { name: "NEW", value: "1" },
    ]);
  });

  it("is as released where there is none yet, and of another name always", () => {
    expect(seen(eventing({}, [release])[0]).replicas).toBe(0);
    const [other] = eventing({}, [workload("other", { spec: { replicas: 1 } })], { pingAdapter: live([]) });
    expect(seen(other).replicas).toBe(1);
  });
});

describe("encryption", () => {
  const manifests = [
    configMap("a"),
    thing("cert-manager.io/v1", "Certificate", "c"),
    thing("trust.cert-manager.io/v1alpha1", "Bundle", "b"),
    thing("networking.internal.knative.dev/v1alpha1", "Certificate", "n"),
  ].map((object) => ({ object, source: "test" }));
  const names = (spec: KnativeEventingSpec) => {
    const { manifests: kept, unwanted } = withoutEncryption(manifests, spec);
    return [kept, unwanted].map((all) => all.map(({ object }) => object.metadata.name).join(""));
  };
  const mode = (value: string) => ({ features: { "transport-encryption": value } });

  it.each<[KnativeEventingSpec, string, string]>([
    [{}, "an", "cb"],
    [{ config: mode("disabled") }, "an", "cb"],
    [{ config: mode("permissive") }, "acbn", ""],
    [{ config: mode("Strict") }, "acbn", ""],
    [{ config: { "config-features": { "transport-encryption": "strict" } } }, "acbn", ""],
    [{ config: { features: {}, "config-features": { "transport-encryption": "strict" } } }, "an", "cb"],
  ])("[spec.config] %j keeps %s and removes %s", (spec, kept, unwanted) => {
    expect(names(spec)).toEqual([kept, unwanted]);
  });
});
