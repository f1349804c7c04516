/**
 * Builds the real control plane that `npm run test:kube` runs against: kube-apiserver,
 * kube-controller-manager and etcd, at the versions pinned in the go.mod files here. With the argument
 * `e2e` it builds what `npm run test:conformance` needs instead: Kubernetes' own tests, their runner, kubectl.
 *
 * Programs go to `.kube/bin`, or nowhere when KUBEBUILDER_ASSETS names a folder that has them.
 * A program that was built from the same pins is left as it is.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const bin = fileURLToPath(new URL("../../.kube/bin/", import.meta.url));

const kubeVersion = pinned(here, "k8s.io/kubernetes");
const [major, minor] = kubeVersion.slice(1).split(".");

/** Without these the programs would call themselves v0.0.0, and clients would believe them. */
const kubeStamps = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((pkg) => [
  `-X ${pkg}.gitVersion=${kubeVersion}`,
  `-X ${pkg}.gitMajor=${major}`,
  `-X ${pkg}.gitMinor=${minor}`,
]);

const controlPlane = [
  { name: "etcd", module: join(here, "etcd"), from: "go.etcd.io/etcd/server/v3", stamps: [] },
  { name: "kube-apiserver", module: here, from: "k8s.io/kubernetes/cmd/kube-apiserver", stamps: kubeStamps },
  {
    name: "kube-controller-manager",
    module: here,
    from: "k8s.io/kubernetes/cmd/kube-controller-manager",
    stamps: kubeStamps,
  },
];

const e2e = join(here, "e2e");
const conformance = [
  { name: "e2e.test", module: e2e, from: "k8s.io/kubernetes/test/e2e", stamps: kubeStamps, how: ["test", "-c"] },
  { name: "ginkgo", module: e2e, from: "github.com/onsi/ginkgo/v2/ginkgo", stamps: [] },
  { name: "kubectl", module: e2e, from: "k8s.io/kubernetes/cmd/kubectl", stamps: kubeStamps },
];

const programs = process.argv.includes("e2e") ? conformance : controlPlane;

const assets = process.env.KUBEBUILDER_ASSETS;
if (assets) {
  const missing = programs.filter(({ name }) => !existsSync(join(assets, name))).map(({ name }) => name);
  if (missing.length > 0) fail(`KUBEBUILDER_ASSETS=${assets} lacks ${missing.join(", ")}; put them there or unset it`);
  console.log(`kube:build: using the programs in ${assets}`);
} else {
  for (const program of programs) build(program);
}

function build({ name, module, from, stamps, how = ["build"] }) {
  const target = join(bin, name);
  const stampFile = `${target}.pins`;
  const pins = digestOf(module, stamps);
  if (existsSync(target) && existsSync(stampFile) && readFileSync(stampFile, "utf8") === pins) {
    console.log(`kube:build: ${name} is there`);
    return;
  }
  console.log(`kube:build: building ${name} from ${from} (minutes, the first time)`);
  mkdirSync(bin, { recursive: true });
  const unfinished = `${target}.${process.pid}`;
  const started = Date.now();
  try {
    execFileSync("go", [...how, "-trimpath", "-ldflags", ["-s -w", ...stamps].join(" "), "-o", unfinished, from], {
      cwd: module,
      stdio: "inherit",
      env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly -buildvcs=false" },
    });
  } catch (cause) {
    fail(
      cause.code === "ENOENT"
        ? "Go is not installed; install Go 1.26 or set KUBEBUILDER_ASSETS to a folder with the programs"
        : `building ${name} failed; the lines above are Go's`,
    );
  }
  renameSync(unfinished, target);
  writeFileSync(stampFile, pins);
  console.log(`kube:build: ${name} built in ${Math.round((Date.now() - started) / 1000)} s`);
}

function digestOf(module, stamps) {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(join(module, file)));
  return hash.update(stamps.join("\n")).digest("hex");
}

function pinned(module, name) {
  const line = new RegExp(`${name} (v[0-9.]+)`).exec(readFileSync(join(module, "go.mod"), "utf8"));
  if (!line) fail(`${join(module, "go.mod")} does not require ${name}`);
  return line[1];
}

function fail(message) {
  console.error(`kube:build: ${message}`);
  process.exit(1);
}
