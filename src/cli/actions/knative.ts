/** Installs, plans and removes Knative for `capstan knative`. The hub's operator does the work; this asks for it. */
import { Namespace } from "#api/core";
import { type KnativeEventing, type KnativeServing, knativeEventingCrd, knativeServingCrd } from "#api/knative";
import { keyOf } from "#api/meta";
import {
  type FleetDirectory,
  type KnativeInstallation,
  type KnativeState,
  knativeReleases,
  knativeState,
  planKnative,
  UsageError,
  UserError,
  untilKnativeGone,
  untilKnativeReady,
} from "#app";
import { type Client, createClient, isAlreadyExists, isNotFound, yamlText } from "#kube";
import { systemClock } from "#lib/clock";
import { humanDuration } from "#lib/duration";
import { stringifyJson } from "#lib/json";
import type { Component, InstallFlags, PlanFlags, RemoveFlags, WaitFlags } from "../commands/knative.ts";
import { ENTRY } from "../entry.ts";
import { stopSignal } from "../signals.ts";
import { connect, targetAndFleetOf } from "../target.ts";
import type { TargetFlags } from "../target-options.ts";
import { print, say } from "../terminal.ts";
import { failureLine, reportRows, reportValue, summaryLine } from "./apply-report.ts";
import { installationsOn } from "./get-knative.ts";
import { releaseSettings } from "./hub-settings.ts";
import { checkInstallable, type Meant, meant, wished } from "./knative-installation.ts";

const RAN_OUT = 3;
/** More than that is no help in one line. */
const LISTED = 5;

export async function runInstall(component: Component, flags: InstallFlags): Promise<void> {
  await onHub(flags, async (hub) => {
    const target = await meant(hub, component, flags);
    await checkInstallable(hub, target);
    const { object, what } = await put(hub, target, wished(target, flags));
    show(object, what, flags);
    if (!flags.wait) {
      say(`See how it fares: capstan get knative${dirOf(flags)}`);
      return;
    }
    await patiently(flags, `${object.kind} ${keyOf(object)} is not ready`, async (signal, onState) => {
      const ready = await untilKnativeReady(hub, target.kind, keyOf(object), { signal, onState });
      const { version, cluster = "the hub itself" } = knativeState(ready);
      say(`${object.kind} ${keyOf(object)} is Ready on ${cluster}, version ${version}.`);
    });
  });
}

/** Only what differs is sent, so that nothing is lost that somebody else changes at the same time. */
async function put(hub: Client, target: Meant, object: KnativeInstallation) {
  const { kind, existing, namespace, name } = target;
  if (!existing) {
    await hub.create(Namespace, { metadata: { name: namespace } }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
    return { object: withKind(target, await hub.create(kind, object)), what: "created" };
  }
  if (stringifyJson(existing.spec) === stringifyJson(object.spec)) return { object: existing, what: "unchanged" };
  const patched = await hub.patch(kind, `${namespace}/${name}`, { spec: object.spec }, { type: "merge" });
  return { object: withKind(target, patched), what: "changed" };
}

function withKind({ kind }: Meant, object: KnativeInstallation): KnativeInstallation {
  return { ...object, apiVersion: `${kind.group}/${kind.version}`, kind: kind.kind };
}

function show(object: KnativeInstallation, what: string, { output }: Pick<PlanFlags, "output">): void {
  if (output === "json") print(stringifyJson(object, 2));
  else if (output === "yaml") print(yamlText(object));
  else print(`${object.kind} ${keyOf(object)} ${what}`);
}

export async function runPlan(component: Component, flags: PlanFlags): Promise<void> {
  const { connection, fleet } = await targetAndFleetOf(flags);
  const hub = createClient({ connection });
  // The pauses between attempts would not keep the process alive by themselves.
  const awake = setInterval(() => {}, 2 ** 30);
  try {
    const target = await meant(hub, component, flags);
    await checkInstallable(hub, target);
    await planOn(hub, fleet, target, flags);
  } finally {
    clearInterval(awake);
    hub.close();
  }
}

async function planOn(hub: Client, fleet: FleetDirectory | undefined, target: Meant, flags: PlanFlags): Promise<void> {
  const providerFile = flags.clusterprofileProviderFile ?? fleet?.providerFile;
  if (target.ref && providerFile === undefined) {
    throw new UsageError("a plan for another cluster needs --clusterprofile-provider-file, or --dir of a fleet");
  }
  const kept = flags.knativeManifests === undefined ? await fleet?.readReleases() : undefined;
  const { source, fetchManifest } = await knativeReleases(kept ?? releaseSettings(flags));
  const object = wished(target, flags);
  const plan = await planKnative(object as KnativeServing | KnativeEventing, {
    hub,
    ...(providerFile !== undefined && { providerFile }),
    ...(fleet && { own: { commands: [[process.execPath, ENTRY]], kubeconfigs: [fleet.kubeconfigOf("hub")] } }),
    releases: source,
    fetchManifest,
    kubernetesMinVersion: process.env.KUBERNETES_MIN_VERSION,
    clock: systemClock,
    signal: stopSignal(),
  });
  const cluster = knativeState(object).cluster ?? "the hub itself";
  const what = `${object.kind} ${keyOf(object)}`;
  if ("hindrance" in plan) throw new UserError(`${what} cannot be installed on ${cluster}: ${plan.hindrance}`);
  const { version, report } = plan;
  const value = { cluster, installation: what, version, ...reportValue(report, [], true) };
  if (flags.output === "json") print(stringifyJson(value, 2));
  else if (flags.output === "yaml") print(yamlText(JSON.parse(stringifyJson(value))));
  else print(reportRows(report, true));
  say(`${what}, version ${version}, on ${cluster}. ${summaryLine(report, true)}`);
  const failure = failureLine(report, []);
  if (failure === undefined) return;
  say(`capstan: ${failure}`);
  process.exitCode = 1;
}

export async function runRemove(component: Component, flags: RemoveFlags): Promise<void> {
  await onHub(flags, async (hub) => {
    const target = await meant(hub, component, flags);
    const { kind, existing } = target;
    if (!existing) throw new UserError(await nothingThere(hub, target));
    const key = keyOf(existing);
    await hub.delete(kind, key).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    if (!flags.wait) {
      print(`${kind.kind} ${key} is being removed`);
      return;
    }
    await patiently(flags, `${kind.kind} ${key} is not gone`, async (signal, onState) => {
      await untilKnativeGone(hub, kind, key, { signal, onState });
      print(`${kind.kind} ${key} removed`);
    });
  });
}

async function nothingThere(hub: Client, { kind, namespace, name, ref }: Meant): Promise<string> {
  const same = (await installationsOn(hub)).filter((each) => each.kind === kind.kind);
  const wanted = ref ? `on ${ref.namespace}/${ref.name}` : `${namespace}/${name} on the hub itself`;
  const there = same
    .slice(0, LISTED)
    .map((each) => `${keyOf(each)} on ${knativeState(each).cluster ?? "the hub itself"}`)
    .join(", ");
  const more = same.length > LISTED ? ` and ${same.length - LISTED} more (capstan get knative)` : "";
  return `there is no ${kind.kind} ${wanted}; there is ${there || "none at all"}${more}`;
}

export function printDefinitions(): void {
  print([knativeServingCrd, knativeEventingCrd].map((definition) => yamlText(definition)).join("---\n"));
}

async function onHub(flags: TargetFlags, work: (hub: Client) => Promise<void>): Promise<void> {
  const hub = await connect(flags);
  try {
    await work(hub);
  } finally {
    hub.close();
  }
}

/** Says how it stands whenever that changes, and when time is up what is still in the way. */
async function patiently(
  { timeout }: WaitFlags,
  failure: string,
  work: (signal: AbortSignal, onState: (state: KnativeState) => void) => Promise<void>,
): Promise<void> {
  const stop = stopSignal();
  const time = AbortSignal.timeout(timeout);
  // The wait itself would not keep the process alive.
  const awake = setInterval(() => {}, 2 ** 30);
  let last = "";
  try {
    await work(AbortSignal.any([stop, time]), ({ reason, message }) => {
      last = [message, reason && `(${reason})`].filter(Boolean).join(" ");
      say(`… ${last}`);
    });
  } catch (error) {
    if (!time.aborted && !stop.aborted) throw error;
    const why = last ? `: ${last}` : "";
    say(`capstan: ${failure} ${stop.aborted ? "yet" : `after ${humanDuration(timeout)}`}${why}`);
    process.exitCode = stop.aborted ? 1 : RAN_OUT;
  } finally {
    clearInterval(awake);
  }
}

function dirOf({ dir }: TargetFlags): string {
  return dir === undefined ? "" : ` --dir ${dir}`;
}
