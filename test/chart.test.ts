/** What the chart repeats of the program is what the program says. Helm itself is asked in test/interop. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { knativeEventingCrd, knativeServingCrd } from "#api/knative";
import { hubCrds, lookedForCrds } from "#features/registration/hub";
import { parseYaml } from "#kube";

const root = fileURLToPath(new URL("..", import.meta.url));
const chart = join(root, "charts/capstan-hub");
const read = (...path: string[]): unknown => parseYaml(readFileSync(join(...path), "utf8"));

describe("the chart of the hub", () => {
  it("brings the definitions of the hub's kinds as they are; if not, run `node tools/chart-crds.mjs` after a build", () => {
    const brought = readdirSync(join(chart, "crds")).map((file) => [file, read(chart, "crds", file)]);
    const wanted = [...hubCrds, ...lookedForCrds, knativeServingCrd, knativeEventingCrd].map((definition) => [
      `${definition.spec.group}_${definition.spec.names.plural}.yaml`,
      JSON.parse(JSON.stringify(definition)),
    ]);
    expect(Object.fromEntries(brought)).toEqual(Object.fromEntries(wanted));
  });

  it("has the version of the program, and with it of the image", () => {
    const { version } = read(root, "package.json") as { version: string };
    expect(read(chart, "Chart.yaml")).toMatchObject({ version, appVersion: version });
  });
});
