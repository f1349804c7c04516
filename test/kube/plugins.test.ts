/** Credential plugins between two real API servers: the hub that keeps the token, and the spoke that accepts it. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Namespace } from "#api/core";
import { accessTo, isAccessFailure, ownProvider, tokenAccessProvider } from "#features/inventory";
import { createClient, createExecEngine } from "#kube";
import { eventually } from "../support/eventually.ts";
import { type InventoryStage, inventoryStage, SECRETS, SPOKE } from "../support/inventory.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const missing = missingControlPlane();

describe.skipIf(missing)(`plugins between real clusters${missing ? ` (${missing})` : ""}`, () => {
  let stage: InventoryStage;
  beforeAll(async () => {
    execFileSync(process.execPath, [join(root, "tools/build.mjs")], { stdio: "inherit" });
    stage = await inventoryStage(startControlPlane);
  }, 180_000);
  afterAll(() => stage?.close());

  it("let our client in, and in again after the service account has lost its tokens", async () => {
    const { url: server, authority } = stage.spoke;
    const place = { secretName: SPOKE, secretNamespace: SECRETS, key: "token" };
    const profile = await stage.offer(tokenAccessProvider({ server, authority, ...place }));
    const capstan: [string, ...string[]] = [process.execPath, join(root, "dist/cli/main.js")];
    const provider = ownProvider({ plugin: "token-secretreader", capstan, kubeconfig: stage.hubKubeconfig });
    const access = accessTo(profile, [provider]);
    if (isAccessFailure(access) || !("exec" in access.credentials)) throw new Error("there is no way in");
    const { exec, cluster } = access.credentials;
    let runs = 0;
    const metrics = { called: () => runs++, decided() {}, certificate() {}, rotated() {} };
    const engine = createExecEngine({ env: process.env, metrics });
    const client = createClient({
      connection: { server, ca: authority, credentials: engine.credentials(exec, cluster) },
    });
    await client.get(Namespace, "kube-system");
    expect(runs).toBe(1);

    await stage.revokeTokens();
    await stage.rotateToken();
    // A real API server remembers for some seconds whom it let in; then it refuses, and the plugin is asked again.
    const failures: unknown[] = [];
    await eventually(async () => {
      await client.get(Namespace, "kube-system").catch((error: unknown) => failures.push(error));
      expect(runs).toBe(2);
    });
    await client.get(Namespace, "kube-system");
    expect(failures).toEqual([]);
    client.close();
  });
});
