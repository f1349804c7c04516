/**
 * Runs Kubernetes' own tests against an embedded cluster: `npm run test:conformance`.
 *
 * Which ones: the names in ../shared/spec/kubernetes-conformance.txt, or those of another file with one name a line
 * (`-- --names FILE`), or all that match an expression (`-- --focus REGEXP`). Those that are expected to fail stand
 * in EXPECTED below with the reason; one that fails and is not listed, or is listed and passes, fails the run.
 *
 * `-- --kubeconfig FILE` runs them against another cluster, `-- --content-type application/json` has the test
 * program talk JSON where it would talk protobuf, `-- --keep` leaves the reports in place and says where.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bin = process.env.KUBEBUILDER_ASSETS ?? join(root, ".kube/bin");

/** By name: why it cannot pass. */
const EXPECTED = new Map([]);

const { values: options } = parseArgs({
  options: {
    names: { type: "string" },
    focus: { type: "string" },
    kubeconfig: { type: "string" },
    "content-type": { type: "string" },
    procs: { type: "string", default: "4" },
    keep: { type: "boolean", default: false },
  },
});

const work = mkdtempSync(join(tmpdir(), "capstan-conformance-"));
let server;
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => server?.kill("SIGTERM"));
try {
  const names = wantedNames();
  const kubeconfig = options.kubeconfig ?? (await startCluster());
  const results = [
    // A test that is called serial disturbs the others, or is disturbed by them.
    ...run({ kubeconfig, report: join(work, "parallel"), procs: options.procs, focus: focusOn(names, false) }),
    ...run({ kubeconfig, report: join(work, "serial"), procs: "1", focus: focusOn(names, true) }),
  ];
  process.exitCode = tell(results, names);
} catch (error) {
  console.error(`test:conformance: ${error.message}`);
  process.exitCode = 1;
} finally {
  await stopCluster();
  if (options.keep) console.log(`test:conformance: the reports are in ${work}`);
  else rmSync(work, { recursive: true, force: true });
}

/** The names of the tests; undefined when an expression chooses them. */
function wantedNames() {
  if (options.focus !== undefined) return undefined;
  const file = options.names ?? join(root, "../shared/spec/kubernetes-conformance.txt");
  if (!existsSync(file)) throw new Error(`${file} is missing; name the tests with --names FILE or --focus REGEXP`);
  return readFileSync(file, "utf8").split("\n").filter(Boolean);
}

/** The expression for those that must run alone, or for the others; undefined when there are none. */
function focusOn(names, serial) {
  if (!names) return serial ? `${options.focus}.*\\[Serial\\]` : options.focus;
  const chosen = names.filter((name) => name.includes("[Serial]") === serial);
  return chosen.length === 0 ? undefined : chosen.map(escaped).join("|");
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/** An embedded cluster with two nodes, in memory; the answer is the path of its kubeconfig. */
async function startCluster() {
  const dir = join(work, "cluster");
  const args = ["apiserver", "--clusters", "conformance", "--data-dir", dir, "--durability", "memory", "--nodes", "2"];
  server = spawn(process.execPath, [join(root, "dist/cli/main.js"), ...args], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.ended = ended;
  const ready = join(dir, "ready.json");
  while (!existsSync(ready)) {
    if (server.exitCode !== null) throw new Error("the cluster did not start; the lines above say why");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return join(dir, "conformance.kubeconfig");
}

async function stopCluster() {
  if (!server || server.exitCode !== null) return;
  server.kill("SIGTERM");
  await server.ended;
}

/** Runs the tests and reads what became of each from the reports. */
function run({ kubeconfig, report, procs, focus }) {
  if (focus === undefined) return [];
  mkdirSync(report, { recursive: true });
  const skip = procs === "1" ? [] : ["--skip=\\[Serial\\]"];
  const ginkgo = ["run", `--procs=${procs}`, "--timeout=40m", "--no-color", `--focus=${focus}`, ...skip];
  const contentType = options["content-type"];
  const e2e = [
    "--provider=skeleton",
    `--kubeconfig=${kubeconfig}`,
    `--kubectl-path=${join(bin, "kubectl")}`,
    `--report-dir=${report}`,
    "--allowed-not-ready-nodes=-1",
    "--minStartupPods=0",
    "--num-nodes=2",
    ...(contentType ? [`--kube-api-content-type=${contentType}`] : []),
  ];
  try {
    execFileSync(join(bin, "ginkgo"), [...ginkgo, join(bin, "e2e.test"), "--", ...e2e], {
      stdio: ["ignore", options.keep ? "inherit" : "ignore", "inherit"],
      env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
    });
  } catch (cause) {
    if (cause.status === undefined || cause.status === null) throw cause; // failed tests are told below
  }
  return readdirSync(report)
    .filter((file) => /^junit.*\.xml$/.test(file))
    .flatMap((file) => resultsIn(readFileSync(join(report, file), "utf8")));
}

function resultsIn(xml) {
  const cases = xml.matchAll(
    /<testcase name="\[It\] ([^"]*)"[^>]*status="([^"]*)" time="([^"]*)"([\s\S]*?)<\/testcase>/g,
  );
  return [...cases]
    .filter(([, , status]) => status !== "skipped")
    .map(([, name, status, seconds, body]) => ({
      name: plain(name),
      passed: status === "passed",
      seconds: Number(seconds),
      why: plain(/^\s*\[FAILED\] (.*)$/m.exec(plain(body))?.[1] ?? ""),
    }));
}

function plain(xml) {
  const entities = {
    "&#39;": "'",
    "&#34;": '"',
    "&quot;": '"',
    "&apos;": "'",
    "&lt;": "<",
    "&gt;": ">",
    "&#xA;": "\n",
  };
  return xml.replace(/&(?:#39|#34|quot|apos|lt|gt|#xA);/g, (entity) => entities[entity]).replaceAll("&amp;", "&");
}

/** Prints what matters, and answers with the exit code. */
function tell(results, names) {
  const known = new Map(results.map((result) => [result.name, result]));
  const missing = (names ?? []).filter((name) => !known.has(name));
  const failed = results.filter(({ name, passed }) => !passed && !EXPECTED.has(name));
  const recovered = results.filter(({ name, passed }) => passed && EXPECTED.has(name));
  for (const { name, seconds, why } of failed)
    console.log(`FAILED  ${name} (${Math.round(seconds)} s)\n        ${why}`);
  for (const name of missing) console.log(`NOT RUN ${name}`);
  for (const { name } of recovered) console.log(`PASSES  ${name}\n        although it is listed as one that cannot`);
  for (const { name, passed } of results) {
    if (!passed && EXPECTED.has(name)) console.log(`listed  ${name}\n        ${EXPECTED.get(name)}`);
  }
  const passed = results.filter((result) => result.passed).length;
  console.log(`test:conformance: ${passed} of ${names?.length ?? results.length} tests of Kubernetes passed`);
  return failed.length + missing.length + recovered.length === 0 && passed > 0 ? 0 : 1;
}
