/** The manifests that Knative publishes, put in by kubectl as its documentation says, become ready. */
import { readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Deployment } from "#api/apps";
import { Job } from "#api/batch";
import { isTrue } from "#lib/conditions";
import { eventually } from "../support/eventually.ts";
import { thirdPartyKinds } from "../support/third-party-kinds.ts";
import { kubectl, missingOf, type Stage, stage, upstream } from "./strangers.ts";

const program = kubectl();
const missing = missingOf({ paths: [program], shared: true });

describe.skipIf(missing)(`Knative${missing ? ` (${missing})` : ""}`, () => {
  let here: Stage;
  beforeAll(async () => {
    here = await stage("knative");
    const foreign = join(here.dir, "foreign.json");
    await writeFile(foreign, JSON.stringify({ apiVersion: "v1", kind: "List", items: thirdPartyKinds }));
    await put(foreign);
  });
  afterAll(async () => {
    await here?.close();
  });

  /** Jobs of the last step have generated names, which cannot be applied. */
  const put = async (file: string) => {
    const how = file.includes("post-install") ? ["create"] : ["apply", "--server-side"];
    const { code, stderr } = await here.run(program ?? "", [...how, "-f", file]);
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  };

  it.each([
    ["knative-serving/1.23.0", "knative-serving", 5],
    ["ingress/1.23/kourier", "kourier-system", 1],
    ["knative-eventing/1.23.0", "knative-eventing", 8],
  ])("%s has every Deployment available and every Job complete", async (folder, namespace, atLeast) => {
    const path = join(upstream, "knative", folder);
    for (const file of readdirSync(path).sort()) await put(join(path, file));
    await eventually(async () => {
      const { items } = await here.server.client.list(Deployment, { namespace });
      expect(items.length).toBeGreaterThanOrEqual(atLeast);
      const waiting = items.filter(({ status }) => !isTrue(status?.conditions, "Available"));
      expect(waiting.map(({ metadata }) => metadata.name)).toEqual([]);
      const jobs = (await here.server.client.list(Job, { namespace })).items;
      expect(jobs.filter(({ status }) => !isTrue(status?.conditions, "Complete"))).toEqual([]);
    });
  });
});
