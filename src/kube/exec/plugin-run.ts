/** One question to one plugin: what is run, with what, and what its end means. */
import { basename } from "node:path";
import type { Clock } from "#lib/clock";
import { stringifyJson } from "#lib/json";
import type { ExecCluster, ExecConfig } from "./config.ts";
import { type Environment, EXEC_INFO, pluginEnvironment } from "./environment.ts";
import { ExecError } from "./error.ts";
import type { ExecMetrics } from "./metrics.ts";
import { allowedProgram, type PluginPolicy } from "./policy.ts";
import { type ProgramEnd, runProgram } from "./process.ts";
import { type Answer, answerOf, execInfo } from "./protocol.ts";
import { repeatable } from "./stderr.ts";

export interface PluginRun {
  readonly config: ExecConfig;
  readonly cluster: ExecCluster;
  readonly env: Environment;
  readonly alsoPass: readonly string[];
  readonly policy: PluginPolicy;
  /** Whether a person sits at our terminal. */
  readonly terminal: boolean;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly metrics: ExecMetrics;
  readonly signal: AbortSignal;
}

/** More than any credential, with its certificates, needs. */
const OUTPUT_LIMIT = 1024 * 1024;

/** A person who must find a phone and type a number takes longer than a program. */
const PATIENCE_WITH_PEOPLE_MS = 5 * 60_000;

/** No variable may be longer on Linux, its name included. */
const LONGEST_VARIABLE = 128 * 1024 - 1;

/** The plugin's answer; throws an ExecError. */
export async function askPlugin(run: PluginRun): Promise<Answer> {
  const { config, metrics, clock } = run;
  const interactive = isInteractive(run);
  const timeoutMs = interactive ? Math.max(run.timeoutMs, PATIENCE_WITH_PEOPLE_MS) : run.timeoutMs;
  const info = infoFor(run, interactive);
  const program = await programOf(run);
  const started = clock.now().getTime();
  const end = await runProgram({
    program,
    args: config.args,
    env: pluginEnvironment({ own: run.env, alsoPass: run.alsoPass, configured: config.env, info }),
    interactive,
    timeoutMs,
    outputLimit: OUTPUT_LIMIT,
    clock,
    signal: run.signal,
  });
  const seconds = (clock.now().getTime() - started) / 1000;
  metrics.called({ plugin: basename(program), ...outcomeOf(end), seconds });
  if (end.how !== "exited" || end.code !== 0) throw failureOf(end, { ...run, timeoutMs });
  return answerOf(end.stdout, config.apiVersion);
}

function isInteractive({ config, terminal }: PluginRun): boolean {
  if (config.interactiveMode === "Always" && !terminal) {
    throw new ExecError("interactive", "exec plugin cannot support interactive mode: standard input is not a terminal");
  }
  return config.interactiveMode !== "Never" && terminal;
}

function infoFor({ config, cluster }: PluginRun, interactive: boolean): string {
  const info = execInfo(config, cluster, interactive);
  if (EXEC_INFO.length + 1 + Buffer.byteLength(info) <= LONGEST_VARIABLE) return info;
  const message = `exec: ${config.command} cannot be told of the cluster: its authorities are too long`;
  throw new ExecError("misconfigured", message);
}

async function programOf({ config, policy, env, metrics }: PluginRun): Promise<string> {
  const program = await allowedProgram(config.command, policy, env.PATH ?? "").catch((error: unknown) => {
    metrics.decided("denied");
    throw error;
  });
  metrics.decided("allowed");
  if (program !== undefined) return program;
  metrics.called({ plugin: basename(config.command), status: "plugin_not_found_error", code: 1, seconds: 0 });
  throw notFound(config);
}

function notFound({ command, installHint }: ExecConfig): ExecError {
  const hint = installHint ?? "install it, or correct the command";
  return new ExecError("not-found", `exec: executable ${command} not found; ${hint}`);
}

function outcomeOf(end: ProgramEnd): Pick<Parameters<ExecMetrics["called"]>[0], "status" | "code"> {
  if (end.how === "not-started") return { status: "client_internal_error", code: 1 };
  if (end.how !== "exited") return { status: "plugin_execution_error", code: -1 };
  return { status: end.code === 0 ? "no_error" : "plugin_execution_error", code: end.code };
}

function failureOf(end: ProgramEnd, { config, cluster, timeoutMs }: PluginRun): ExecError {
  const { command } = config;
  switch (end.how) {
    case "exited": {
      const told = stringifyJson([cluster.server, cluster.config, basename(command)]);
      const said = repeatable(end.stderr, told);
      const message = `exec: executable ${command} failed with exit code ${end.code}`;
      return new ExecError("failed", said === "" ? message : `${message}: ${said}`, { exitCode: end.code });
    }
    case "killed":
      return new ExecError("killed", `exec: executable ${command} was ended by ${end.by}`);
    case "timeout":
      return new ExecError("timeout", `exec: executable ${command} gave no credential within ${timeoutMs / 1000} s`);
    case "too-much-output":
      return new ExecError("too-much-output", `exec: executable ${command} wrote more than a credential needs (1 MiB)`);
    case "called-off":
      return new ExecError("called-off", `exec: executable ${command} was called off`);
    case "not-started":
      return new ExecError("not-started", `exec: executable ${command} cannot be started: ${systemReason(end.cause)}`);
  }
}

/** The message of the system's error would repeat every argument. */
function systemReason(cause: Error): string {
  const { code } = cause as NodeJS.ErrnoException;
  return code ?? "the system refused";
}
