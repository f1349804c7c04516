/** What stands behind a Service, in the older form. */
import { beforeAll, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Body } from "../support/raw.ts";
import { handmadePods } from "./pods.ts";
import { at, refusal, refused, type Staged } from "./stage.ts";

export function endpointsSuite(stage: Staged): void {
  const pods = handmadePods(stage);
  let space: string;
  let node: string;
  beforeAll(async () => {
    space = await pods.namespace();
    node = await pods.node();
  });
  const endpoints = (name?: string) => at(space, "endpoints", name);
  const made = async (name: string, spec: object, metadata: object = {}): Promise<void> => {
    const { code, body } = await stage().admin.post(at(space, "services"), { metadata: { name, ...metadata }, spec });
    expect([code, body.message]).toEqual([201, undefined]);
  };
  const found = async (name: string): Promise<Body> => {
    const { code, body } = await stage().admin.get(endpoints(name));
    expect(code).toBe(200);
    return body;
  };

  it("endpoints.empty: are there before there are Pods, with the labels of their Service", async () => {
    const spec = { ports: [{ port: 80 }], selector: { app: "nobody" } };
    await made("lonely", spec, { labels: { team: "blue" } });
    const body = await eventually(() => found("lonely"));
    expect(body.metadata.labels).toEqual({ team: "blue", "endpoints.kubernetes.io/managed-by": "endpoint-controller" });
    expect(body.subsets).toBeUndefined();
    expect(body.metadata.annotations).toHaveProperty(["endpoints.kubernetes.io/last-change-trigger-time"]);
    await stage().admin.patch(at(space, "services", "lonely"), { metadata: { labels: { team: "red" } } });
    await eventually(async () => expect((await found("lonely")).metadata.labels).toMatchObject({ team: "red" }));
  });

  it("endpoints.subsets: list Pods by the ports they offer, those apart that are not ready", async () => {
    const labels = { app: "many" };
    await made("many", {
      ports: [
        { name: "http", port: 80, targetPort: "web" },
        { name: "status", port: 81 },
      ],
      selector: labels,
    });
    const port = (containerPort: number) => ({ node, labels, ports: [{ name: "web", containerPort }] });
    const first = await pods.pod(space, "many-a", port(8080));
    await pods.pod(space, "many-b", port(8080));
    await pods.pod(space, "many-c", port(9090));
    await pods.pod(space, "many-d", port(8080));
    await pods.report(space, "many-a", { ip: "192.0.2.1" });
    await pods.report(space, "many-b", { ip: "192.0.2.2", isReady: false });
    await pods.report(space, "many-c", { ip: "192.0.2.3" });
    await pods.report(space, "many-d", { ip: "192.0.2.4", phase: "Failed" });

    const shown = async () => {
      const subsets = ((await found("many")).subsets ?? []) as {
        addresses?: { ip: string }[];
        notReadyAddresses?: { ip: string }[];
        ports: { name: string; port: number }[];
      }[];
      return subsets
        .map(({ addresses = [], notReadyAddresses = [], ports }) => ({
          ready: addresses.map(({ ip }) => ip),
          waiting: notReadyAddresses.map(({ ip }) => ip),
          ports: ports.map(({ name, port: number }) => `${name}:${number}`).toSorted(),
        }))
        .toSorted((a, b) => String(a.ports).localeCompare(String(b.ports)));
    };
    await eventually(async () =>
      expect(await shown()).toEqual([
        { ready: ["192.0.2.1"], waiting: ["192.0.2.2"], ports: ["http:8080"] },
        { ready: ["192.0.2.3"], waiting: [], ports: ["http:9090"] },
        { ready: ["192.0.2.1", "192.0.2.3"], waiting: ["192.0.2.2"], ports: ["status:81"] },
      ]),
    );
    const subsets = (await found("many")).subsets as { addresses?: { ip: string }[] }[];
    expect(subsets.flatMap(({ addresses = [] }) => addresses).find(({ ip }) => ip === "192.0.2.1")).toEqual({
      ip: "192.0.2.1",
      nodeName: node,
      targetRef: { kind: "Pod", namespace: space, name: "many-a", uid: first.metadata.uid },
    });

    await stage().admin.delete(at(space, "pods", "many-c"), { gracePeriodSeconds: 0 });
    await eventually(async () =>
      expect(await shown()).toEqual([
        { ready: ["192.0.2.1"], waiting: ["192.0.2.2"], ports: ["http:8080", "status:81"] },
      ]),
    );
  });

  it("endpoints.leaving: leave out Pods that are being deleted", async () => {
    const labels = { app: "leaving" };
    await made("leaving", { ports: [{ port: 80 }], selector: labels });
    await pods.pod(space, "leaving", { node, labels, metadata: { finalizers: ["example.com/stay"] } });
    await pods.report(space, "leaving", { ip: "192.0.2.5" });
    await eventually(async () =>
      expect((await found("leaving")).subsets).toMatchObject([{ addresses: [{ ip: "192.0.2.5" }] }]),
    );
    await stage().admin.delete(at(space, "pods", "leaving"), { gracePeriodSeconds: 0 });
    await eventually(async () => expect((await found("leaving")).subsets).toBeUndefined());
    await stage().admin.patch(at(space, "pods", "leaving"), { metadata: { finalizers: null } });
  });

  it("endpoints.headless: are marked and list Pods without ports", async () => {
    const labels = { app: "domain" };
    await made("domain", { clusterIP: "None", selector: labels });
    await pods.pod(space, "domain", { node, labels, spec: { hostname: "zero", subdomain: "domain" } });
    await pods.report(space, "domain", { ip: "192.0.2.6" });
    await eventually(async () =>
      expect((await found("domain")).subsets).toEqual([
        { addresses: [expect.objectContaining({ ip: "192.0.2.6", hostname: "zero" })] },
      ]),
    );
    expect((await found("domain")).metadata.labels).toMatchObject({ "service.kubernetes.io/headless": "" });
  });

  it("endpoints.gone: go with their Service, also those that were written by hand", async () => {
    const subsets = [{ addresses: [{ ip: "192.0.2.7" }], ports: [{ port: 80 }] }];
    await made("selecting", { ports: [{ port: 80 }], selector: { app: "nobody" } });
    await made("by-hand", { ports: [{ port: 80 }] });
    await stage().admin.post(endpoints(), { metadata: { name: "by-hand" }, subsets });
    await eventually(() => found("selecting"));
    for (const name of ["selecting", "by-hand"]) await stage().admin.delete(at(space, "services", name));
    await eventually(async () => {
      expect((await stage().admin.get(endpoints("selecting"))).code).toBe(404);
      expect((await stage().admin.get(endpoints("by-hand"))).code).toBe(404);
    });
  });

  it("endpoints.own: are left alone when they have no Service", async () => {
    const subsets = [{ addresses: [{ ip: "192.0.2.8" }], ports: [{ port: 80 }] }];
    await stage().admin.post(endpoints(), { metadata: { name: "own" }, subsets });
    await stage().admin.patch(endpoints("own"), { metadata: { labels: { a: "b" } } });
    await made("witness", { ports: [{ port: 80 }], selector: { app: "nobody" } });
    await eventually(() => found("witness"));
    expect((await found("own")).subsets).toMatchObject(subsets);
  });

  it("endpoints.deprecation: come with the advice to use slices", async () => {
    const { headers } = await stage().admin.get(endpoints());
    expect(headers.warning).toContain("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice");
  });

  it.each([
    ["no addresses", { ports: [{ port: 80 }] }, "subsets[0] FieldValueRequired"],
    ["an address that is none", { addresses: [{ ip: "here" }] }, "subsets[0].addresses[0].ip FieldValueInvalid"],
    [
      "ports without names",
      { addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 80 }, { name: "b", port: 81 }] },
      "subsets[0].ports[0].name FieldValueRequired",
    ],
    [
      "a port out of range",
      { addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 70_000 }] },
      "subsets[0].ports[0].port FieldValueInvalid",
    ],
  ])("endpoints.refusals: refuses %s", async (_, subset, cause) => {
    const reply = await stage().admin.post(endpoints(), { metadata: { generateName: "bad-" }, subsets: [subset] });
    expect(refusal(reply)).toEqual(refused(422, "Invalid", cause));
  });
}
