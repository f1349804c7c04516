/**
 * Writes the definitions of the hub's kinds into the chart, from the types that the hub itself is made of. Run it after
 * a build, when a kind has changed; test/chart.test.ts says when that is due.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { dump } from "js-yaml";
import { knativeEventingCrd, knativeServingCrd } from "#api/knative";
import { hubCrds, lookedForCrds } from "#features/registration/hub";

const folder = fileURLToPath(new URL("../charts/capstan-hub/crds/", import.meta.url));
const HEADER = "# Made by tools/chart-crds.mjs; changes go to src/api.\n";

mkdirSync(folder, { recursive: true });
for (const file of readdirSync(folder)) rmSync(join(folder, file));
for (const definition of [...hubCrds, ...lookedForCrds, knativeServingCrd, knativeEventingCrd]) {
  const { group, names } = definition.spec;
  const text = dump(definition, { noRefs: true, lineWidth: 120 });
  writeFileSync(join(folder, `${group}_${names.plural}.yaml`), HEADER + text);
}
