import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Pod, ServiceAccount } from "#api/core";
import { FleetDirectory, startApiServer } from "#app";
import { connectionOf, createClient } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { nodeProgramsSuite } from "../suites/node-programs/index.ts";
import { programs } from "../suites/node-programs/programs.ts";
import { eventually } from "../support/eventually.ts";
import { startEmbedded } from "../support/servers.ts";

describe("Pods of Capstan's own image on an embedded cluster", () => nodeProgramsSuite(startEmbedded));

describe("an API server of Capstan", () => {
  it.each([
    ["one port for all clusters", true],
    ["a port for each cluster", false],
  ])("runs Pods of its own image with %s, and ends them with their cluster", async (_, sharedPort) => {
    const dir = await mkdtemp(join(tmpdir(), "capstan-own-"));
    onTestFinished(() => rm(dir, { recursive: true, force: true }));
    const directory = new FleetDirectory(dir);
    await directory.create();
    const own = programs();
    const server = await startApiServer({
      directory,
      clusters: ["a", "b"],
      firstPort: 20_000 + randomInt(1_200) * 10,
      portIsWish: false,
      sharedPort,
      durability: "os",
      signingDurationMs: 3_600_000,
      nodes: 1,
      own,
      version: "0.0.0-test",
      clock: systemClock,
      log: silentLog,
    });
    onTestFinished(() => server.close());
    const client = createClient({ connection: await connectionOf(server.kubeconfig("b")) });
    onTestFinished(() => client.close());
    await eventually(() => client.get(ServiceAccount, "default/default"));
    const { metadata } = await client.create(Pod, {
      metadata: { name: "who", namespace: "default" },
      spec: { containers: [{ name: "who", image: "capstan:0.0.0-test", args: ["whoami"] }] },
    });
    await eventually(async () =>
      expect(await client.raw("/api/v1/namespaces/default/pods/who/log")).toBe(
        "I am system:serviceaccount:default:default\n",
      ),
    );
    expect(await readdir(directory.podsOf("b"))).toEqual([metadata.uid]);
    client.close();
    await server.remove("b");
    expect(own.of("who").map(({ signal }) => signal.aborted)).toEqual([true]);
    expect(existsSync(directory.podsOf("b"))).toBe(false);
  });
});
