import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApplyEngine, identityOf, idOf, type Manifest } from "#kube";
import { startEmbedded, type TestServer } from "../../../../test/support/servers.ts";
import type { Component } from "../component.ts";
import { createReleases } from "../releases/index.ts";
import { placed, transformed } from "../transform/index.ts";
import { demonstrationSource } from "./index.ts";

const releases = createReleases({ source: demonstrationSource() });
const owner = { apiVersion: "v1", kind: "ConfigMap", name: "anchor", uid: "u-1" };
const component = (version?: string): Component => ({
  kind: "KnativeServing",
  spec: { ...(version && { version }), ingress: { kourier: { enabled: true } } },
});

async function installed(version?: string): Promise<readonly Manifest[]> {
  const wish = component(version);
  const target = await releases.target(wish);
  return transformed(target.manifests, {
    component: wish,
    installNamespace: "knative-serving",
    owner,
    targetVersion: target.version,
  });
}

describe("the demonstration", () => {
  it("has two versions, the newer of which is meant unless told", async () => {
    expect(await releases.versions("KnativeServing")).toEqual(["1.23.0", "1.22.0"]);
    expect((await releases.target(component())).paths).toEqual([
      "demonstration/knative-serving/1.23.0",
      "demonstration/ingress/1.23/kourier",
    ]);
  });

  it("says on every object that it is one, and of no Deployment more than Knative has", async () => {
    const manifests = await installed();
    const plain = manifests.filter(({ object: { metadata } }) => !metadata.annotations?.["demo.capstan.dev/note"]);
    expect(plain).toEqual([]);
    expect(
      manifests.filter(({ object }) => object.kind === "Deployment").map(({ object }) => object.metadata.name),
    ).toEqual(["activator", "autoscaler", "controller", "webhook", "net-kourier-controller", "3scale-kourier-gateway"]);
  });

  it("has one object less, and another Job, after an upgrade", async () => {
    const { paths, version } = await releases.target(component("1.22"));
    const options = { component: component("1.22"), installNamespace: "knative-serving", version };
    const before = placed(await releases.installed(paths), options);
    const now = new Set((await installed()).map(({ object }) => identityOf(idOf(object))));
    const obsolete = before.filter(({ object }) => !now.has(identityOf(idOf(object))));
    expect(obsolete.map(({ object }) => `${object.kind} ${object.metadata.name}`)).toEqual([
      "ConfigMap config-tracing",
      "Job storage-version-migration-serving-serving-1.22.0",
    ]);
  });

  it("says what it lacks", async () => {
    await expect(releases.target({ kind: "KnativeServing", spec: {} })).rejects.toThrow(
      "there is no ingress/1.23/istio",
    );
    await expect(releases.target({ kind: "KnativeEventing", spec: {} })).rejects.toThrow(
      "no releases of KnativeEventing",
    );
  });
});

describe("on a server", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startEmbedded("demonstration");
  });
  afterAll(() => server.close());

  it("every object of it is accepted", async () => {
    const engine = createApplyEngine({ client: server.client, fieldManager: "test", fieldValidation: "Strict" });
    const wishes = (await installed()).map(({ object, source }) => ({
      object: { ...object, metadata: { ...object.metadata, ownerReferences: [] } },
      source,
    }));
    const { objects, complete } = await engine.apply({ wishes }, { patience: 20_000 });
    const wrong = objects.filter(({ action }) => action !== "created");
    expect(wrong.map(({ id, action, reason, message }) => ({ ...id, action, reason, message }))).toEqual([]);
    expect(complete).toBe(true);
  });
});
