/** Copies that keep less than the objects hold, on any API server. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { ConfigMap, Secret } from "#api/core";
import { createCache } from "#kube";
import { eventually } from "../support/eventually.ts";
import type { StartServer, TestServer } from "../support/servers.ts";

export function projectionsSuite(start: StartServer): void {
  let server: TestServer;
  const stop = new AbortController();
  beforeAll(async () => {
    server = await start("projections");
    for (const name of ["one", "two"]) {
      const metadata = { name, namespace: "default", labels: { suite: "projections" } };
      await server.client.create(ConfigMap, { metadata, data: { size: name, large: "x".repeat(1_000) } });
      await server.client.create(Secret, { metadata, stringData: { password: name } });
    }
  });
  afterAll(async () => {
    stop.abort();
    await server?.close();
  });

  const scope = { namespace: "default", labelSelector: "suite=projections" };

  it("hold the metadata of Secrets and nothing that is secret, through changes and deletions", async () => {
    const cache = createCache({ client: server.client, kind: Secret, scope: { ...scope, projection: "metadata" } });
    cache.start(stop.signal);
    await cache.whenSynced();
    expect(cache.list().map(({ metadata }) => metadata.name)).toEqual(["one", "two"]);
    await server.client.patch(Secret, "default/one", { metadata: { labels: { changed: "yes" } } });
    await server.client.delete(Secret, "default/two");
    await eventually(() => {
      expect(cache.list()).toHaveLength(1);
      const [secret] = cache.list();
      expect(secret?.metadata.labels).toEqual({ suite: "projections", changed: "yes" });
      expect(Object.keys(secret ?? {}).sort()).toEqual(["apiVersion", "kind", "metadata"]);
      expect([secret?.apiVersion, secret?.kind]).toEqual(["v1", "Secret"]);
    });
  });

  it("hold single fields", async () => {
    const cache = createCache({
      client: server.client,
      kind: ConfigMap,
      scope: { ...scope, projection: ["data.size"] },
    });
    cache.start(stop.signal);
    await cache.whenSynced();
    await server.client.patch(ConfigMap, "default/two", { data: { size: "changed" } });
    await eventually(() =>
      expect(cache.list().map(({ data }) => data)).toEqual([{ size: "one" }, { size: "changed" }]),
    );
  });

  it("can be listed too", async () => {
    const { items } = await server.client.list(ConfigMap, { ...scope, metadataOnly: true });
    expect(items.map(({ kind, data }) => [kind, data])).toEqual([
      ["ConfigMap", undefined],
      ["ConfigMap", undefined],
    ]);
  });
}
