/**
 * Fetches the programs of other projects that `npm run test:interop` runs beside ours, each by module and version,
 * and builds them into `.kube/strangers`; charts and manifests that lie in such a module are copied there. With names
 * as arguments it builds only those programs, and with `bench` those that only benchmarks run. What was built from the
 * same pins is left as it is.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const bin = fileURLToPath(new URL("../../.kube/strangers/", import.meta.url));

const INVENTORY = "sigs.k8s.io/cluster-inventory-api";
const OCM = "open-cluster-management.io/ocm";

/** `from` is a package: at a version, or in the module of ours that pins it. */
const programs = [
  { name: "helm3", from: "helm.sh/helm/v3/cmd/helm@v3.22.0" },
  { name: "helm4", from: "helm.sh/helm/v4/cmd/helm@v4.3.1" },
  { name: "secretreader", module: "inventory", from: `${INVENTORY}/plugins/secretreader/cmd/plugin` },
  {
    name: "kubeconfig-secretreader",
    module: "inventory",
    from: `${INVENTORY}/plugins/kubeconfig-secretreader/cmd/plugin`,
  },
  { name: "controller-example", module: "inventory", from: `${INVENTORY}/examples/controller-example` },
  { name: "clusteradm", module: "clusteradm", from: "open-cluster-management.io/clusteradm/cmd/clusteradm" },
  { name: "ocm-registration", module: "ocm", from: `${OCM}/cmd/registration` },
  { name: "ocm-work", module: "ocm", from: `${OCM}/cmd/work` },
  { name: "knative-operator", from: "knative.dev/operator/cmd/operator@v0.50.1" },
];

/** Opponents in benchmarks: a module of ours with a program around somebody else's library. */
const opponents = [{ name: "multicluster-runtime", module: "multicluster-runtime", from: "." }];

/** Folders of a module that tests read. */
const folders = [
  { name: "kro-chart", from: "github.com/kubernetes-sigs/kro@v0.9.4", path: "helm" },
  {
    name: "cluster-manager-chart",
    from: "open-cluster-management.io/ocm@v1.2.1",
    path: "deploy/cluster-manager/chart/cluster-manager",
  },
  {
    name: "klusterlet-chart",
    from: "open-cluster-management.io/ocm@v1.2.1",
    path: "deploy/klusterlet/chart/klusterlet",
  },
];

mkdirSync(bin, { recursive: true });
const words = process.argv.slice(2);
for (const program of chosen()) once(program.name, pinsOf(program), (target) => build(program, target));
for (const folder of words.length > 0 ? [] : folders) once(folder.name, folder.from, (target) => copy(folder, target));

function chosen() {
  if (words.length === 0) return programs;
  return words.includes("bench") ? opponents : programs.filter(({ name }) => words.includes(name));
}

/** Makes what is missing, aside, and moves it into place when it is whole. */
function once(name, pins, make) {
  const target = join(bin, name);
  const stampFile = `${target}.pins`;
  if (existsSync(target) && existsSync(stampFile) && readFileSync(stampFile, "utf8") === pins) {
    console.log(`strangers: ${name} is there`);
    return;
  }
  const started = Date.now();
  const aside = join(bin, `.${name}.${process.pid}`);
  try {
    make(aside);
    rmSync(target, { recursive: true, force: true });
    renameSync(aside, target);
  } catch (cause) {
    console.error(
      cause.code === "ENOENT"
        ? "strangers: Go is not installed; install Go 1.26"
        : `strangers: ${name} cannot be had; the lines above say why`,
    );
    process.exit(1);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  writeFileSync(stampFile, pins);
  console.log(`strangers: ${name} made in ${Math.round((Date.now() - started) / 1000)} s`);
}

function build({ from, module }, target) {
  const flags = ["-trimpath", "-ldflags", "-s -w"];
  if (module) {
    go(["build", "-mod=readonly", ...flags, "-o", target, from], { cwd: join(here, module) });
    return;
  }
  const aside = `${target}.bin`;
  go(["install", ...flags, from], { env: { GOBIN: aside } });
  renameSync(join(aside, basename(from.replace(/@.*$/, ""))), target);
  rmSync(aside, { recursive: true });
}

/** Modules lie read-only in Go's cache; what is copied can be removed again. */
function copy({ from, path }, target) {
  const { Dir } = JSON.parse(go(["mod", "download", "-json", from], { stdio: ["ignore", "pipe", "inherit"] }));
  cpSync(join(Dir, path), target, { recursive: true });
  execFileSync("chmod", ["-R", "u+w", target]);
}

function go(args, { env = {}, ...options } = {}) {
  return execFileSync("go", args, {
    stdio: "inherit",
    encoding: "utf8",
    ...options,
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false", ...env },
  });
}

function pinsOf({ from, module }) {
  if (!module) return from;
  const hash = createHash("sha256").update(from);
  const files = ["go.mod", "go.sum", "main.go"].map((file) => join(here, module, file));
  for (const file of files.filter(existsSync)) hash.update(readFileSync(file));
  return hash.digest("hex");
}
