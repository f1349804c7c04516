/**
 * Compiles src/ to dist/. npm runs it as `prepare`, after `npm ci` and again whenever `npx capstan`
 * is called in a clone, so: nothing happens when dist/ is current, and new files are compiled aside and
 * then moved in one by one, so that a running or starting Capstan never meets half a file.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");
const stampFile = join(dist, ".built-from");

const source = digest();
if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === source) process.exit(0);

const compiler = findCompiler();
if (!compiler) {
  if (existsSync(join(dist, "cli/main.js"))) process.exit(0); // installed without development dependencies
  console.error("build: TypeScript is not installed and dist/ is empty; run `npm ci` (with development dependencies)");
  process.exit(1);
}

const aside = join(root, `dist.${process.pid}`);
try {
  execFileSync(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json"), "--outDir", aside], {
    stdio: "inherit",
  });
  const fresh = filesOf(aside);
  for (const file of fresh) {
    const target = join(dist, file);
    mkdirSync(dirname(target), { recursive: true });
    renameSync(join(aside, file), target);
  }
  const wanted = new Set(fresh);
  for (const file of filesOf(dist)) if (!wanted.has(file)) rmSync(join(dist, file), { force: true });
  chmodSync(join(dist, "cli/main.js"), 0o755);
  writeFileSync(`${stampFile}.${process.pid}`, source);
  renameSync(`${stampFile}.${process.pid}`, stampFile);
} catch {
  console.error("build: compiling src/ failed; the lines above are the compiler's");
  process.exitCode = 1;
} finally {
  rmSync(aside, { recursive: true, force: true });
}

function digest() {
  const hash = createHash("sha256");
  const inputs = [
    ...filesOf(join(root, "src")).map((file) => join("src", file)),
    "tsconfig.json",
    "tsconfig.build.json",
    "package-lock.json",
  ];
  for (const file of inputs) {
    if (file.endsWith(".test.ts")) continue;
    hash
      .update(file)
      .update("\0")
      .update(readFileSync(join(root, file)))
      .update("\0");
  }
  return hash.digest("hex");
}

function filesOf(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith(".built-from"))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

function findCompiler() {
  try {
    const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
    return join(dirname(manifest), JSON.parse(readFileSync(manifest, "utf8")).bin.tsc);
  } catch {
    return undefined;
  }
}
