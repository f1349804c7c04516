/**
 * Writes src/apiserver/types/type-table.generated.ts: what the embedded API server knows about the built-in
 * Kubernetes types.
 *
 *   node tools/type-table.mjs [table.json]
 *
 * Two sources meet here. The table (default ../shared/spec/k8s-type-table.json) gives names, types, protobuf
 * numbers and merge rules. The Go modules pinned in tools/kube give what the table lacks and JSON depends on:
 * which fields are pointers (a pointer to zero is shown, a plain zero is not), which are omitzero, which structs are
 * atomic. What the pinned modules do not have, because the table is of a newer release, is left out: we and
 * the control plane that we are compared with speak the same version.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = resolve(root, process.argv[2] ?? "../shared/spec/k8s-type-table.json");
const target = join(root, "src/apiserver/types/type-table.generated.ts");

const modules = moduleFolders();
const constants = new Map();
const table = JSON.parse(readFileSync(source, "utf8"));
const structs = readStructs(new Set(Object.keys(table.types).map((key) => key.split("#")[0])));

const lines = Object.keys(table.types)
  .sort()
  .filter((key) => structs.has(key) && isBody(table.types[key]))
  .map((key) => `${JSON.stringify(key)}:${JSON.stringify(typeEntry(table.types[key], structs.get(key)))}`);

writeFileSync(
  target,
  `/**
 * The built-in Kubernetes types, one per line, written by \`node tools/type-table.mjs\`; do not edit.
 *
 * {"<group>/<version>#<Struct>": {"<field>": [protobuf number, type, flags, {merge rules and default}?]}}
 * Flags: o omitempty, z omitzero, p pointer, r required. "~Name" is an inlined struct; the field "" carries what
 * is said of the struct itself. Kept as text, because JSON.parse is quicker to start and to type-check than
 * an object literal.
 */
export const TYPE_TABLE_JSON = String.raw\`{
${lines.join(",\n")}
}\`;
`,
);
console.log(`type-table: ${lines.length} types`);

function typeEntry(fields, struct) {
  const entry = {};
  if (struct.atomic) entry[""] = [null, "", "", { mt: "atomic" }];
  for (const [name, field] of Object.entries(fields)) {
    const go = struct.fields.get(name);
    if (!go) continue;
    const flags = `${go.omitempty ? "o" : ""}${go.omitzero ? "z" : ""}${go.pointer ? "p" : ""}${field.r ? "r" : ""}`;
    const rules = {};
    for (const rule of ["ps", "pk", "lt", "lk", "mt"]) if (field[rule] !== undefined) rules[rule] = field[rule];
    if (field.d !== undefined) rules.d = defaultOf(field.d);
    entry[name] = [field.n, resolved(field.t), flags, ...(Object.keys(rules).length > 0 ? [rules] : [])];
  }
  return entry;
}

/** Tables are answers only and have no protobuf: we neither read nor store them. */
function isBody(fields) {
  return Object.entries(fields).every(([name, { n }]) => n !== null || name.startsWith("~"));
}

/** Named scalars by what they are; a named list of strings is a message of its own in protobuf: `items:`. */
function resolved(type) {
  if (type.startsWith("[]")) return `[]${resolved(type.slice(2))}`;
  if (type.startsWith("map:")) return `map:${resolved(type.slice(4))}`;
  const scalar = table.scalars[type];
  if (scalar === undefined) return type;
  return scalar === "[]string" ? "items:string" : resolved(scalar);
}

function defaultOf(text) {
  const reference = /^ref\((\w+)\)$/.exec(text);
  if (!reference) return JSON.parse(text);
  const value = constants.get(reference[1]);
  if (value === undefined) throw new Error(`no constant ${reference[1]}`);
  return value;
}

/** Every struct of the given group versions: its fields by JSON name, as its Go declaration tags them. */
function readStructs(groupVersions) {
  const found = new Map();
  for (const groupVersion of [...groupVersions].sort()) {
    const folder = folderOf(groupVersion);
    if (!existsSync(folder)) continue;
    for (const file of readdirSync(folder).sort()) {
      if (!file.endsWith(".go") || /_test\.go$|\.pb\.go$|^zz_/.test(file)) continue;
      readFile(readFileSync(join(folder, file), "utf8"), (name, struct) =>
        found.set(`${groupVersion}#${name}`, struct),
      );
    }
  }
  return found;
}

function readFile(text, add) {
  let struct;
  let atomic = false;
  for (const line of text.split("\n")) {
    const constant = /^\t(\w+)\s+\w+\s+=\s+"([^"]*)"/.exec(line);
    if (constant) constants.set(constant[1], constant[2]);

    const declared = /^type (\w+) struct ?\{(\})?/.exec(line);
    if (declared) {
      const next = { atomic, fields: new Map() };
      add(declared[1], next);
      struct = declared[2] ? undefined : next;
      atomic = false;
    } else if (/^\/\/ \+structType=atomic/.test(line)) {
      atomic = true;
    } else if (/^(type|func|var|const|\})/.test(line)) {
      struct = undefined;
      atomic = false;
    } else if (struct) {
      readField(line, struct.fields);
    }
  }
}

function readField(line, fields) {
  const field = /^\t(?:\w+ +)?(\*?)([\w.[\]*]+) +`.*\bjson:"([^"]*)"/.exec(line);
  if (!field) return;
  const [, star, goType, tag] = field;
  const [name, ...options] = tag.split(",");
  fields.set(name || `~${goType.split(".").at(-1)}`, {
    pointer: star === "*",
    omitempty: options.includes("omitempty"),
    omitzero: options.includes("omitzero"),
  });
}

function folderOf(groupVersion) {
  const [group, version] = groupVersion.split("/");
  if (group === "meta") return join(modules.get("k8s.io/apimachinery"), "pkg/apis/meta", version);
  if (group === "apiextensions.k8s.io") {
    return join(modules.get("k8s.io/apiextensions-apiserver"), "pkg/apis/apiextensions", version);
  }
  if (group === "apiregistration.k8s.io") {
    return join(modules.get("k8s.io/kube-aggregator"), "pkg/apis/apiregistration", version);
  }
  return join(modules.get("k8s.io/api"), group.split(".")[0], version);
}

function moduleFolders() {
  const names = ["k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator"];
  const text = execFileSync("go", ["list", "-m", "-f", "{{.Path}} {{.Dir}}", ...names], {
    cwd: join(root, "tools/kube"),
    encoding: "utf8",
  });
  return new Map(
    text
      .trim()
      .split("\n")
      .map((line) => line.split(" ")),
  );
}
