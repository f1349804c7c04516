import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { locateService, SIMULATION_ANNOTATION } from "./locate.ts";

const service = (spec: object = {}, annotations: Record<string, string> = {}) => ({
  storage: "core/services",
  metadata: { name: "hook", namespace: "space", annotations },
  spec: { selector: { app: "hook" }, ports: [{ name: "https", port: 443, targetPort: 8443 }], ...spec },
});
const pod = (
  name: string,
  podIP: string | undefined,
  more: { labels?: object; status?: object; spec?: object } = {},
) => ({
  storage: "core/pods",
  metadata: { name, namespace: "space", labels: more.labels ?? { app: "hook" } },
  spec: { containers: [{ name: "c", ports: [{ name: "web", containerPort: 9443 }] }], ...more.spec },
  status: { phase: "Running", podIP, conditions: [{ type: "Ready", status: "True" }], ...more.status },
});
const slice = (address: string, ready?: boolean) => ({
  storage: "discovery.k8s.io/endpointslices",
  metadata: { name: "hook-1", namespace: "space", labels: { "kubernetes.io/service-name": "hook" } },
  ports: [{ name: "https", port: 7443 }],
  endpoints: [{ addresses: [address], ...(ready !== undefined && { conditions: { ready } }) }],
});
const endpoints = (ip: string) => ({
  storage: "core/endpoints",
  metadata: { name: "hook", namespace: "space" },
  subsets: [{ addresses: [{ ip }], ports: [{ name: "https", port: 6443 }] }],
});

type Piece = { storage: string; metadata: { name: string; namespace: string } };
function located(...objects: Piece[]) {
  const stored = objects as unknown as (DynamicObject & Piece)[];
  const store = {
    get: (storage: string, key: string) =>
      stored.find((o) => o.storage === storage && `${o.metadata.namespace}/${o.metadata.name}` === key),
    list: (storage: string, { namespace }: { namespace: string }) => ({
      items: stored.filter((o) => o.storage === storage && o.metadata.namespace === namespace),
    }),
  };
  return locateService(store, { namespace: "space", name: "hook", port: 443 });
}

const NONE = { missing: 'no endpoints available for service "hook"' };

describe("the way to a webhook through its Service", () => {
  it.each<[string, Piece[], unknown]>([
    ["is missing without a Service", [], { missing: 'service "hook" not found' }],
    [
      "is missing for a mere name",
      [service({ type: "ExternalName" })],
      { missing: 'unsupported service type "ExternalName"' },
    ],
    [
      "is missing without the port",
      [service({ ports: [{ port: 80 }] })],
      { missing: 'no service port 443 found for service "hook"' },
    ],
    ["is missing without Pods", [service()], NONE],
    ["is missing while no Pod is ready", [service(), pod("a", "127.0.0.1", { status: { conditions: [] } })], NONE],
    ["does not lead to Pods that are over", [service(), pod("a", "127.0.0.1", { status: { phase: "Failed" } })], NONE],
    ["does not lead to Pods without an address", [service(), pod("a", undefined)], NONE],
    ["does not lead to other Pods", [service(), pod("a", "127.0.0.1", { labels: { app: "other" } })], NONE],
    [
      "leads to a Pod that really runs, at the port that the Service aims at",
      [service(), pod("a", "127.0.0.1")],
      { endpoint: { host: "127.0.0.1", port: 8443 } },
    ],
    [
      "leads to a port by its name",
      [service({ ports: [{ port: 443, targetPort: "web" }] }), pod("a", "127.0.0.7")],
      { endpoint: { host: "127.0.0.7", port: 9443 } },
    ],
    [
      "leads to the same port where the Service aims at none",
      [service({ ports: [{ port: 443 }] }), pod("a", "127.0.0.1")],
      { endpoint: { host: "127.0.0.1", port: 443 } },
    ],
    [
      "prefers a Pod that really runs",
      [service(), pod("a", "10.0.0.1"), pod("b", "127.0.0.1")],
      { endpoint: { host: "127.0.0.1", port: 8443 } },
    ],
    ["allows while all Pods are simulated", [service(), pod("a", "10.0.0.1")], { simulated: "allow" }],
    [
      "allows when it is told to",
      [service({}, { [SIMULATION_ANNOTATION]: "allow" }), pod("a", "10.0.0.1")],
      { simulated: "allow" },
    ],
    [
      "denies when it is told to",
      [service({}, { [SIMULATION_ANNOTATION]: "deny" }), pod("a", "10.0.0.1")],
      { simulated: "deny" },
    ],
    [
      "is missing when it is told to be",
      [service({}, { [SIMULATION_ANNOTATION]: "absent" }), pod("a", "10.0.0.1")],
      NONE,
    ],
    [
      "is what it is when somebody answers, whatever is to be simulated",
      [service({}, { [SIMULATION_ANNOTATION]: "deny" }), pod("a", "127.0.0.1")],
      { endpoint: { host: "127.0.0.1", port: 8443 } },
    ],
    [
      "is what others say where the Service selects nothing",
      [service({ selector: {} }), slice("127.0.0.1")],
      { endpoint: { host: "127.0.0.1", port: 7443 } },
    ],
    ["leaves out endpoints that are not ready", [service({ selector: {} }), slice("127.0.0.1", false)], NONE],
    [
      "is read from the older list, too",
      [service({ selector: {} }), endpoints("127.0.0.1")],
      { endpoint: { host: "127.0.0.1", port: 6443 } },
    ],
  ])("%s", (_, objects, expected) => {
    expect(located(...objects)).toEqual(expected);
  });
});
