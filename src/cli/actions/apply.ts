/** Applies manifests for `capstan apply`, and shows what was done. */
import { UserError } from "#app";
import {
  type ApplyEngine,
  ApplyError,
  type ApplyReport,
  type Client,
  configMapSet,
  createApplyEngine,
  createClient,
  type Manifest,
  ManifestError,
  type ObjectSet,
  readManifests,
  type SetTracking,
  type Unready,
  yamlText,
} from "#kube";
import { stringifyJson } from "#lib/json";
import { dns1123Subdomain } from "#lib/names";
import type { ApplyFlags } from "../commands/apply.ts";
import { stopSignal } from "../signals.ts";
import { standardInput } from "../standard-input.ts";
import { targetOf } from "../target.ts";
import { print, say } from "../terminal.ts";
import { version } from "../version.ts";
import { failureLine, reportRows, reportValue, summaryLine } from "./apply-report.ts";

const RAN_OUT = 3;
const VALIDATION = { strict: "Strict", warn: "Warn", ignore: "Ignore" } as const;

export async function runApply(flags: ApplyFlags): Promise<void> {
  const manifests = await readAll(flags);
  const connection = await targetOf(flags);
  const client = createClient({ connection, onWarning: once((text) => say(`Warning: ${text}`)) });
  // The pauses between attempts would not keep the process alive by themselves.
  const awake = setInterval(() => {}, 2 ** 30);
  try {
    await applyWith(client, flags, manifests, flags.namespace ?? connection.namespace ?? "default");
  } catch (error) {
    throw error instanceof ApplyError ? new UserError(error.message, { cause: error }) : error;
  } finally {
    clearInterval(awake);
    client.close();
  }
}

async function applyWith(
  client: Client,
  flags: ApplyFlags,
  manifests: readonly Manifest[],
  namespace: string,
): Promise<void> {
  const set: ObjectSet = {
    wishes: manifests,
    strategy: { type: "ServerSideApply", force: flags.forceConflicts ?? false },
    namespace,
    ...(flags.set !== undefined && { tracking: trackingOf(client, flags, flags.set, namespace) }),
  };
  const engine = createApplyEngine({
    client,
    fieldManager: flags.fieldManager,
    fieldValidation: VALIDATION[flags.validate],
  });
  const started = Date.now();
  const signal = stopSignal();
  const run = { signal, patience: flags.timeout, onWait: once((what) => say(`Waiting for ${what} …`)) };
  const report = flags.plan ? await engine.plan(set, run) : await engine.apply(set, run);
  const left = Math.max(0, started + flags.timeout - Date.now());
  const unready = flags.wait && !flags.plan && report.complete ? await readyAfter(engine, report, left, signal) : [];
  show(report, unready, flags);
  conclude(report, unready, flags);
}

function readyAfter(engine: ApplyEngine, report: ApplyReport, patience: number, signal: AbortSignal) {
  return engine.whenReady(report, { patience, signal, onWait: once((what) => say(`Waiting for ${what} …`)) });
}

async function readAll({ filename, recursive = false }: ApplyFlags): Promise<readonly Manifest[]> {
  try {
    return await readManifests(filename, { stdin: standardInput, recursive });
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    if (error.problems.length > 1) for (const problem of error.problems) say(problem);
    throw new UserError(`${error.message}; nothing was applied`, { cause: error });
  }
}

function trackingOf(client: Client, flags: ApplyFlags, set: string, defaultNamespace: string): SetTracking {
  const [name = "", namespace = defaultNamespace, ...more] = set.split("/").reverse();
  const [flaw] = more.length > 0 ? ["it has more than one slash"] : dns1123Subdomain(name);
  if (flaw !== undefined) throw new UserError(`${JSON.stringify(set)} is no name of a set: ${flaw}`);
  return {
    ...configMapSet({ client, name, namespace, version: version() }),
    prune: flags.prune ?? false,
    ...(flags.maxRemovals && { budget: flags.maxRemovals }),
    containers: flags.pruneContainers ? "remove" : "keep",
  };
}

function show(report: ApplyReport, unready: readonly Unready[], { output, plan = false }: ApplyFlags): void {
  const value = () => reportValue(report, unready, plan);
  if (output === "json") print(stringifyJson(value(), 2));
  // By way of JSON, because YAML has no word for integers that a number cannot hold.
  else if (output === "yaml") print(yamlText(JSON.parse(stringifyJson(value()))));
  else print(reportRows(report, plan));
}

function conclude(report: ApplyReport, unready: readonly Unready[], { plan = false, wait = false }: ApplyFlags): void {
  say(summaryLine(report, plan));
  const failure = failureLine(report, unready);
  if (failure === undefined) return;
  const isLate = wait && report.objects.every(({ action }) => action !== "refused" && action !== "held back");
  say(`capstan: ${failure}`);
  process.exitCode = isLate ? RAN_OUT : 1;
}

/** The same line is said once, however often it comes. */
function once(speak: (line: string) => void): (line: string) => void {
  const said = new Set<string>();
  return (line) => {
    if (said.has(line)) return;
    said.add(line);
    speak(line);
  };
}
