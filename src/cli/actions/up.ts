/** Runs a fleet for `capstan up`, in the foreground or detached. */
import { spawn } from "node:child_process";
import { openSync } from "node:fs";
import { join } from "node:path";
import {
  ClusterManagerGates,
  FleetDirectory,
  type FleetHub,
  parseGates,
  type RunningFleet,
  UsageError,
  UserError,
  up,
} from "#app";
import type { UpFlags } from "../commands/up.ts";
import { ENTRY } from "../entry.ts";
import { defaultDirectory, logLevel } from "../options.ts";
import { runProgram } from "../programs.ts";
import { stopSignal } from "../signals.ts";
import { colours, print, say } from "../terminal.ts";
import { version } from "../version.ts";
import { hubArguments } from "./hub-arguments.ts";
import { hubSettings } from "./hub-settings.ts";

export function runUp(flags: UpFlags): Promise<void> {
  return flags.detach ? detached(flags) : foreground(flags);
}

/** What a detached fleet tells the command that started it. */
type Report = { step: string } | { ready: string } | { failed: string; isUsage: boolean };

async function foreground(flags: UpFlags): Promise<void> {
  const report = reporter();
  const started = Date.now();
  const withKnative = flags.with === "knative";
  let fleet: RunningFleet;
  try {
    fleet = await up({
      dir: flags.dir,
      spokes: flags.spokes,
      hub: fleetHub(flags),
      withKnative,
      ...(flags.port !== undefined && { port: flags.port }),
      fresh: flags.fresh ?? false,
      logLevel: logLevel(),
      version: version(),
      image: `capstan:${version()}`,
      runProgram,
      capstan: [process.execPath, ENTRY],
      progress: (step) => report({ step }),
      signal: stopSignal(),
    });
  } catch (error) {
    if (process.send && (error instanceof UserError || error instanceof UsageError)) {
      report({ failed: error.message, isUsage: error instanceof UsageError });
      process.exitCode = 1;
      return;
    }
    throw error;
  }
  report({ ready: summary(fleet, Date.now() - started, withKnative) });
  if (process.send) process.disconnect?.();
  await fleet.stopped;
}

/** Flags that a hub would refuse are refused here, before there is one. */
function fleetHub(flags: UpFlags): FleetHub {
  const { controllers, gates, releases, autoApproveUsers } = hubSettings(flags);
  return {
    choice: { ...(controllers && { controllers }), ...(gates && { gates }) },
    releases,
    hubArguments: hubArguments({ ...flags, knativeDemonstration: true }),
    ...(flags.featureGates !== undefined && { featureGates: parseGates(flags.featureGates, ClusterManagerGates) }),
    ...(autoApproveUsers && { autoApprovedIdentities: autoApproveUsers }),
  };
}

/** To a person, or to the command that detached this process. */
function reporter(): (report: Report) => void {
  if (process.send) return (report) => void process.send?.(report);
  return (report) => {
    if ("step" in report) say(`${colours.green("✓")} ${report.step}`);
    if ("ready" in report) print(`\n${report.ready}\nCtrl-C stops it; its data stays.`);
  };
}

async function detached(flags: UpFlags): Promise<void> {
  const directory = new FleetDirectory(flags.dir);
  await directory.create();
  const output = openSync(join(directory.logs, "up.log"), "a", 0o600);
  // The same words again, so that no flag is lost; of two --dir the last one counts.
  const said = process.argv.slice(process.argv.indexOf("up") + 1).filter((word) => word !== "--detach");
  const args = [ENTRY, "up", ...said, "--dir", directory.path];
  const child = spawn(process.execPath, args, { detached: true, stdio: ["ignore", output, output, "ipc"] });

  await new Promise<void>((resolve, reject) => {
    child.on("message", (report: Report) => {
      if ("step" in report) say(`${colours.green("✓")} ${report.step}`);
      if ("failed" in report) reject(report.isUsage ? new UsageError(report.failed) : new UserError(report.failed));
      if ("ready" in report) {
        print(`\n${report.ready}\nIt runs in the background; \`capstan down${dirFlag(directory)}\` stops it.`);
        resolve();
      }
    });
    child.once("exit", (code) => {
      reject(
        new UserError(`the fleet ended before it was ready (exit code ${code}); see ${join(directory.logs, "up.log")}`),
      );
    });
  }).finally(() => {
    if (child.connected) child.disconnect();
    child.unref();
  });
}

function summary({ directory, clusters }: RunningFleet, ms: number, withKnative: boolean): string {
  const kubectl = `kubectl --kubeconfig ${directory.kubeconfig}`;
  const width = Math.max(...clusters.map(({ name }) => name.length));
  return [
    `A fleet of ${clusters.length} clusters works (${(ms / 1000).toFixed(1)} s):`,
    ...clusters.map(({ name, url }) => `  ${colours.bold(name.padEnd(width))}  ${url}`),
    "",
    "Three things to try:",
    `  ${kubectl} --context hub get managedclusters`,
    `  ${kubectl} --context hub get clusterprofiles -n fleet-system`,
    `  npx capstan get ${withKnative ? "knative" : "clusters"}${dirFlag(directory)}`,
    "",
  ].join("\n");
}

function dirFlag({ path }: FleetDirectory): string {
  return path === defaultDirectory() ? "" : ` --dir ${path}`;
}
