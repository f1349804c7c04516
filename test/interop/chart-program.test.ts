/** The program starts with the arguments, files and rights that the chart gives it. */
import { execFileSync, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Deployment } from "#api/apps";
import { ManagedClusterSet } from "#api/cluster";
import { Lease } from "#api/coordination";
import type { ConfigMap } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { manifestsIn } from "#kube";
import { accountToken } from "../support/account-token.ts";
import { auditedSoFar } from "../support/audit.ts";
import { eventually } from "../support/eventually.ts";
import { missingOf, type Stage, stage, stranger } from "./strangers.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const chart = join(root, "charts/capstan-hub");
const helm = stranger("helm4");
const missing = missingOf({ paths: [helm] });

const NAMESPACE = "capstan";
const VALUES = {
  knative_operator: {
    multicluster: {
      enabled: true,
      accessProvidersConfig: { providers: [{ name: "token-secretreader", builtin: "token-secretreader" }] },
    },
  },
  // Every flag that the chart knows.
  hub: {
    controllers: "*,-cluster-taints",
    featureGates: { ClusterProfile: true },
    extraArgs: ["--knative-removal-patience=1m"],
  },
};

describe.skipIf(missing)(`the chart's Deployment${missing ? ` (${missing})` : ""}`, () => {
  let here: Stage;
  beforeAll(async () => {
    execFileSync(process.execPath, [join(root, "tools/build.mjs")], { stdio: "inherit" });
    here = await stage("chart-program");
  });
  afterAll(() => here?.close());

  const helmed = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await here.run(helm, [
      ...args,
      "-n",
      NAMESPACE,
      "-f",
      join(here.dir, "values.json"),
    ]);
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    return stdout;
  };

  /** The folder of the test in place of those of a container, and one of its ports. */
  const hereInstead = (text: string) =>
    text
      .replaceAll(/\/var\/run\/secrets\/kubernetes\.io\/serviceaccount|\/etc\/(capstan|cluster-inventory)/g, here.dir)
      .replaceAll("/var/cache/capstan", here.dir)
      .replaceAll("https://kubernetes.default.svc", here.server.url)
      .replaceAll("--metrics-address=:8080", "--metrics-address=127.0.0.1:0");

  it("runs a hub that becomes ready, leads, works and is refused nothing", async () => {
    await writeFile(join(here.dir, "values.json"), JSON.stringify(VALUES));
    await helmed("install", "capstan", chart, "--create-namespace");
    const objects = manifestsIn(await helmed("template", "capstan", chart), "chart").manifests.map(
      ({ object }) => object,
    );
    const files: Record<string, string> = {
      ...dataOf(objects, "capstan-hub"),
      ...dataOf(objects, "clusterprofile-provider-file"),
      token: await accountToken(here.server, `${NAMESPACE}/capstan-hub`),
      "ca.crt": here.server.authority,
    };
    for (const [file, text] of Object.entries(files))
      await writeFile(join(here.dir, file), hereInstead(text), { mode: 0o600 });

    const deployment = objects.find(({ kind }) => kind === "Deployment") as unknown as Deployment;
    const args = deployment.spec.template.spec.containers[0]?.args ?? [];
    const hub = spawn(process.execPath, [join(root, "dist/cli/main.js"), ...args.map(hereInstead)], {
      env: { PATH: process.env.PATH, HOME: "/nonexistent" },
    });
    let said = "";
    hub.stderr.on("data", (chunk) => {
      said += chunk;
    });
    const ended = new Promise<number | null>((resolve) => hub.once("exit", resolve));
    try {
      const address = await eventually(() => {
        const [, found] = /health and metrics at (\S+)/.exec(said) ?? [];
        expect(found, said).toBeDefined();
        return found;
      });
      await eventually(async () => expect((await fetch(`${address}/readyz`)).status, said).toBe(200));
      expect((await fetch(`${address}/healthz`)).status).toBe(200);
      await eventually(() => here.server.client.get(Lease, `${NAMESPACE}/capstan-hub`));
      await eventually(() => here.server.client.get(ManagedClusterSet, "global"));
    } finally {
      hub.kill("SIGTERM");
    }
    expect(await ended, said).toBe(0);
    const asked = (await auditedSoFar(here.server)).filter(({ user }) => user?.username?.endsWith(":capstan-hub"));
    expect(asked.length).toBeGreaterThan(0);
    const refused = asked.filter(({ responseStatus }) => responseStatus?.code === 403);
    expect(refused.map(({ verb, requestURI }) => `${verb} ${requestURI.split("?")[0]}`)).toEqual([]);
  });
});

function dataOf(objects: readonly DynamicObject[], name: string): Record<string, string> {
  const found = objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === name);
  return (found as ConfigMap | undefined)?.data ?? {};
}
