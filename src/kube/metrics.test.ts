import { afterEach, describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { createRegistry, type Registry } from "#lib/metrics";
import { createClient } from "./client.ts";
import type { Connection } from "./config/index.ts";
import { registerClientMetrics } from "./metrics.ts";
import { type Script, type ScriptedServer, scriptedServer } from "./testing/scripted-server.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function serving(script: Script): Promise<ScriptedServer> {
  const server = await scriptedServer(script);
  ends.push(() => server.stop());
  return server;
}

function counted(connection: Connection, detailed = false) {
  const registry = createRegistry();
  const client = createClient({ connection, metrics: registerClientMetrics(registry, { detailed }) });
  ends.push(() => client.close());
  return { registry, client };
}

/** Series without buckets, as they are written. */
const seriesOf = (registry: Registry): string[] =>
  registry
    .text()
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#") && !line.includes("_bucket{"));

const map = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" } });

describe("requests", () => {
  it("are counted by status, method and host, as other Kubernetes clients do", async () => {
    const server = await serving(({ method, reply }) => (method === "POST" ? reply(409, {}) : reply(200, map("a"))));
    const host = `127.0.0.1:${server.port}`;
    const { registry, client } = counted(server.connection);
    await client.get(ConfigMap, "default/a");
    await client.get(ConfigMap, "default/a");
    await client.create(ConfigMap, map("a")).catch(() => {});
    expect(seriesOf(registry)).toEqual([
      `rest_client_requests_total{code="200",method="GET",host="${host}"} 2`,
      `rest_client_requests_total{code="409",method="POST",host="${host}"} 1`,
    ]);
  });

  it("that nobody answers are counted too", async () => {
    const { registry, client } = counted({ server: "https://127.0.0.1:1" });
    await client.get(ConfigMap, "default/a").catch(() => {});
    expect(seriesOf(registry)).toEqual([
      'rest_client_requests_total{code="<error>",method="GET",host="127.0.0.1:1"} 1',
    ]);
  });

  it("are counted as often as they are sent, and measured where somebody wants to know", async () => {
    let asked = 0;
    const server = await serving((request) =>
      asked++ === 0 ? request.reply(429, "later", { "retry-after": "0" }) : request.reply(200, map("a")),
    );
    const of = `host="127.0.0.1:${server.port}"`;
    const { registry, client } = counted(server.connection, true);
    await client.get(ConfigMap, "default/a");
    const series = seriesOf(registry).filter((line) => !line.includes("_sum{"));
    const size = Buffer.byteLength(JSON.stringify(map("a")));
    expect(series).toEqual([
      `rest_client_request_duration_seconds_count{verb="GET",${of}} 2`,
      `rest_client_request_retries_total{code="200",verb="GET",${of}} 1`,
      `rest_client_request_size_bytes_count{verb="GET",${of}} 2`,
      `rest_client_requests_total{code="200",method="GET",${of}} 1`,
      `rest_client_requests_total{code="429",method="GET",${of}} 1`,
      `rest_client_response_size_bytes_count{verb="GET",${of}} 1`,
    ]);
    expect(registry.text()).toContain(`rest_client_response_size_bytes_sum{verb="GET",${of}} ${size}`);
  });
});
