/**
 * Every field that one can set has a test that proves what it does, and the README lists them. A test names its fields
 * in brackets, `[spec.registry.default]`, in its title or in the row of a table. The table is written anew by
 * `npx vitest run --project unit src/features/knative/fields.test.ts --update`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { CustomResourceDefinition } from "#api/apiextensions";
import { knativeEventingCrd, knativeServingCrd } from "#api/knative";
import type { OpenApiSchema } from "#api/schema";

const SRC = fileURLToPath(new URL("../../", import.meta.url));
const README = join(SRC, "features/knative/README.md");
const FOLDERS = ["features/knative", "api/knative"];

/** Pieces of Kubernetes that are passed on as they are, and lists that are the same as another one. */
const WHOLE = new Set([
  "spec.deployments",
  "spec.workloads.affinity",
  "spec.workloads.env.envVars",
  "spec.workloads.tolerations",
  "spec.workloads.topologySpreadConstraints",
  "spec.workloads.volumeMounts",
  "spec.workloads.resources.claims",
  "spec.resources.claims",
  "spec.podDisruptionBudgets.selector",
  "spec.ingress.istio.knative-local-gateway.servers",
]);

function specOf(definition: CustomResourceDefinition): OpenApiSchema {
  return definition.spec.versions[0]?.schema?.openAPIV3Schema?.properties?.spec ?? {};
}

/** The fields that hold a value, by their path without list indices. */
function fieldsOf(schema: OpenApiSchema, path: string): string[] {
  const { properties } = schema.items ?? schema;
  if (!properties || WHOLE.has(path)) return [path];
  return Object.entries(properties).flatMap(([name, inner]) => fieldsOf(inner, `${path}.${name}`));
}

const fields = [
  ...new Set([knativeServingCrd, knativeEventingCrd].flatMap((each) => fieldsOf(specOf(each), "spec"))),
].sort();

interface Proof {
  readonly field: string;
  readonly file: string;
  /** What is left of the text when its fields are taken away; empty where the tests below it say it. */
  readonly sentence: string;
}

const proofs = FOLDERS.flatMap((folder) =>
  readdirSync(join(SRC, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts") && !file.endsWith("fields.test.ts"))
    .flatMap((file) => proofsIn(join(SRC, folder, file))),
);

function proofsIn(file: string): Proof[] {
  const texts = readFileSync(file, "utf8").matchAll(/"((?:[^"\\\n]|\\.)*\[spec\.(?:[^"\\\n]|\\.)*)"/g);
  return [...texts].flatMap(([, text = ""]) => {
    const sentence = text
      .replaceAll(/\[spec\.[^\]]+\]/g, "")
      .replace(/[:,]?\s*%[sjo].*$/, "")
      .trim();
    const named = [...text.matchAll(/\[(spec\.[^\]]+)\]/g)];
    return named.map(([, field = ""]) => ({ field, file: relative(SRC, file), sentence }));
  });
}

describe("the fields of both kinds", () => {
  it("are all proven by a test", () => {
    expect(fields.length).toBeGreaterThan(90);
    expect(fields.filter((field) => !proofs.some((proof) => proof.field === field))).toEqual([]);
  });

  it("are all that tests speak of", () => {
    const known = (field: string) => fields.some((each) => each === field || each.startsWith(`${field}.`));
    expect(proofs.filter(({ field }) => !known(field))).toEqual([]);
  });

  it("that are the same as others really are", () => {
    const [serving, eventing] = [specOf(knativeServingCrd), specOf(knativeEventingCrd)];
    for (const { properties = {} } of [serving, eventing]) {
      expect(properties.deployments?.items).toEqual(properties.workloads?.items);
    }
    const { properties: istio = {} } = serving.properties?.ingress?.properties?.istio ?? {};
    expect(istio["knative-local-gateway"]).toEqual(istio["knative-ingress-gateway"]);
  });

  it("are listed in the README", async () => {
    await expect(withTable(readFileSync(README, "utf8"))).toMatchFileSnapshot(README);
  });
});

const BEGIN = "<!-- fields: begin -->";
const END = "<!-- fields: end -->";

function withTable(text: string): string {
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`the README has no ${BEGIN} … ${END}`);
  return `${text.slice(0, begin)}${BEGIN}\n\n${table()}\n\n${text.slice(end)}`;
}

function table(): string {
  const rows = [
    ["field", "proven in", "which says"],
    ...fields.map((field) => {
      const own = proofs.filter((proof) => proof.field === field);
      const files = [...new Set(own.map(({ file }) => file.replace(/^features\/knative\//, "")))];
      const sentences = [...new Set(own.flatMap(({ sentence }) => sentence || []))];
      return [`\`${field}\``, files.join(", "), sentences.join("; ").replaceAll("|", "\\|")];
    }),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => (row[column] ?? "").padEnd(width)).join(" | ")} |`;
  const [head = [], ...body] = rows;
  return [line(head), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...body.map(line)].join("\n");
}
