/** Helm 3 and 4 install, change, roll back and remove charts, and wait for what they wait for. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Deployment } from "#api/apps";
import { eventually } from "../support/eventually.ts";
import { missingOf, type Stage, stage, stranger } from "./strangers.ts";

const CHARTS = ["kro-chart", "cluster-manager-chart", "klusterlet-chart"].map(stranger);

describe.each(["helm3", "helm4"])("%s", (name) => {
  const helm = stranger(name);
  const missing = missingOf({ paths: [helm, ...CHARTS] });
  let here: Stage;
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await here.run(helm, args);
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    return stdout;
  };
  const replicasOf = async (key: string) =>
    (await here.server.client.get(Deployment, key)).status?.availableReplicas ?? 0;

  beforeAll(async () => {
    if (!missing) here = await stage(name);
  });
  afterAll(async () => {
    await here?.close();
  });

  it.skipIf(missing)(`carries a chart through its life${missing ? ` (${missing})` : ""}`, async () => {
    await run("create", "web");
    await run("install", "one", "./web", "--wait", "--timeout", "60s");
    expect(await replicasOf("default/one-web")).toBe(1);
    await run("upgrade", "one", "./web", "--wait", "--timeout", "60s", "--set", "replicaCount=3");
    expect(await replicasOf("default/one-web")).toBe(3);
    await run("rollback", "one", "1", "--wait", "--timeout", "60s");
    await eventually(async () => expect(await replicasOf("default/one-web")).toBe(1));
    await run("test", "one");
    expect(JSON.parse(await run("history", "one", "-o", "json"))).toMatchObject([
      { revision: 1, status: "superseded" },
      { revision: 2, status: "superseded" },
      { revision: 3, status: "deployed", description: "Rollback to 1" },
    ]);
    await run("uninstall", "one", "--wait", "--timeout", "60s");
    expect(await here.server.client.get(Deployment, "default/one-web").catch(({ code }) => code)).toBe(404);
  });

  it.skipIf(missing).each([
    ["kro-chart", "kro/kro", []],
    ["cluster-manager-chart", "hub/cluster-manager", []],
    ["klusterlet-chart", "agent/klusterlet", ["--set", "klusterlet.clusterName=one"]],
  ])("installs the %s with its definitions and its rights", async (chart, deployment, more) => {
    const [namespace = "", release = ""] = deployment.split("/");
    const where = ["-n", namespace, "--create-namespace", "--wait", "--timeout", "60s"];
    await run("install", release, stranger(chart), ...where, ...more);
    expect(await replicasOf(deployment)).toBeGreaterThan(0);
    await run("uninstall", release, "-n", namespace, "--wait", "--timeout", "60s");
  });
});
