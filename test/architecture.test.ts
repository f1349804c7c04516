/** The shape of the house: which way arrows point, that nothing runs in circles, that every module says what it is for. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../src", import.meta.url));

/** What each layer may import beside itself. */
const MAY_IMPORT: Record<string, string[]> = {
  api: [],
  lib: ["api"],
  kube: ["lib", "api"],
  apiserver: ["lib", "api"],
  runtime: ["kube", "lib", "api"],
  features: ["runtime", "kube", "lib", "api"],
  app: ["features", "runtime", "kube", "apiserver", "lib", "api"],
  cli: ["app", "kube", "lib", "api"],
};

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
  .sort();
const imports = files.flatMap(importsOf);

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), "utf8");
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?([^;"']*?\sfrom\s+)?["']([^"']+)["']/gms);
  const later = [...text.matchAll(/\bimport\("([^"]+)"\)/g)].flatMap(([, specifier = ""]) => {
    const to = resolved(file, specifier);
    return to ? [{ from: file, to, typeOnly: true }] : []; // loaded when called: it cannot close a circle of values
  });
  const atOnce = [...statements].flatMap(([, typeOnly, clause = "", specifier = ""]) => {
    const to = resolved(file, specifier);
    const names =
      /\{([^}]*)\}/s
        .exec(clause)?.[1]
        ?.split(",")
        .map((name) => name.trim())
        .filter(Boolean) ?? [];
    const onlyTypes = names.length > 0 && !/^\s*\w/.test(clause) && names.every((name) => name.startsWith("type "));
    return to ? [{ from: file, to, typeOnly: Boolean(typeOnly) || onlyTypes }] : [];
  });
  return [...atOnce, ...later];
}

/** The file in src/ that a specifier leads to; undefined for packages. */
function resolved(file: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return normalize(join(dirname(file), specifier));
  if (specifier.startsWith("#")) return `${specifier.slice(1)}/index.ts`;
  return undefined;
}

const layerOf = (file: string): string => file.split("/")[0] ?? "";
/** A module is what has an index of its own: `lib/clock`, `kube`, `features/registration/hub`. */
const moduleOf = (file: string): string => {
  const [layer = "", first = "", second = ""] = file.split("/");
  if (layer === "features") return [layer, first, second].join("/");
  return ["api", "lib"].includes(layer) ? [layer, first].join("/") : layer;
};

describe("imports", () => {
  it("lead to files that exist", () => {
    expect(imports.filter(({ to }) => !files.includes(to))).toEqual([]);
  });

  it("point down the layers and never up", () => {
    const upward = imports.filter(({ from, to }) => {
      const [a, b] = [layerOf(from), layerOf(to)];
      return a !== b && !MAY_IMPORT[a]?.includes(b);
    });
    expect(upward).toEqual([]);
  });

  it("enter a module by its index only", () => {
    const through = imports.filter(
      ({ from, to }) =>
        moduleOf(from) !== moduleOf(to) && layerOf(from) !== layerOf(to) && !/(^|\/)index\.ts$/.test(to),
    );
    expect(through).toEqual([]);
  });

  it("never lead from hub code to agent code or back", () => {
    const crossing = imports.filter(
      ({ from, to }) =>
        (from.includes("/hub/") && to.includes("/agent/")) || (from.includes("/agent/") && to.includes("/hub/")),
    );
    expect(crossing).toEqual([]);
  });

  it("never lead from one feature to another, because features meet through objects", () => {
    const feature = (file: string) => /^features\/([^/]+)/.exec(file)?.[1];
    const meeting = imports.filter(({ from, to }) => feature(from) && feature(to) && feature(from) !== feature(to));
    expect(meeting).toEqual([]);
  });

  it("hold no circle of values", () => {
    expect(circles(imports.filter(({ typeOnly }) => !typeOnly))).toEqual([]);
  });
});

describe("modules", () => {
  it.each(files.filter((file) => /(^|\/)index\.ts$/.test(file)))("%s opens by saying what it is for", (file) => {
    expect(readFileSync(join(root, file), "utf8")).toMatch(/^\/\*\*[\s\S]{20,}?\*\//);
  });

  it("are not called after nothing", () => {
    expect(files.filter((file) => /(^|\/)(utils?|helpers?|common|misc)(\/|\.)/.test(file))).toEqual([]);
  });

  it("are found", () => {
    expect(files.length).toBeGreaterThan(100);
    expect(imports.length).toBeGreaterThan(files.length);
  });
});

function circles(edges: readonly Import[]): string[][] {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to]);
  const found: string[][] = [];
  const done = new Set<string>();
  const visit = (file: string, path: string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) {
      found.push([...path.slice(at), file]);
      return;
    }
    if (done.has(file)) return;
    for (const to of next.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of next.keys()) visit(file, []);
  return found;
}
