/** How the administrator's commands run: one cluster, a bound, what they say while they wait, and how they end. */
import { writeFile } from "node:fs/promises";
import { type Change, reasonOf, type Task, UserError } from "#app";
import { createClient, isForbidden, isNetworkError, isTimeout, isUnauthorized, yamlText } from "#kube";
import { humanDuration } from "#lib/duration";
import type { TaskFlags } from "../administration-options.ts";
import { stopSignal } from "../signals.ts";
import { type Target, targetAndFleetOf } from "../target.ts";
import type { TargetFlags } from "../target-options.ts";
import { colours, print, say, table } from "../terminal.ts";

const RAN_OUT = 3;

/** Runs a task against the cluster that the flags mean, and ends as the contract says. */
export async function administer(
  flags: TaskFlags,
  work: (task: Task, connection: Target["connection"], target: Target) => Promise<void>,
): Promise<void> {
  const target = await targetAndFleetOf(flags);
  const { connection } = target;
  const client = createClient({ connection });
  const stop = stopSignal();
  const time = AbortSignal.timeout(flags.timeout);
  // The wait itself would not keep the process alive.
  const awake = setInterval(() => {}, 2 ** 30);
  let last = "";
  const onWait = (what: string) => {
    if (what !== last) say(`${colours.dim("…")} waiting for ${what}`);
    last = what;
  };
  try {
    const signal = AbortSignal.any([stop, time]);
    await work({ client, dryRun: flags.dryRun ?? false, signal, onWait }, connection, target);
  } catch (error) {
    if (!stop.aborted && !time.aborted) throw explained(error, client.server);
    const waited = last === "" ? `${client.server} to answer` : last;
    say(
      stop.aborted
        ? `capstan: stopped while waiting for ${waited}; run the same command again to go on`
        : `capstan: gave up after ${humanDuration(flags.timeout)} of waiting for ${waited}; see what is wrong with \`capstan doctor${targetWords(flags)}\`, then run the same command again`,
    );
    process.exitCode = stop.aborted ? 1 : RAN_OUT;
  } finally {
    clearInterval(awake);
    client.close();
  }
}

/** What the server or the network said, with the next thing to do. */
export function explained(error: unknown, server: string): unknown {
  if (isNetworkError(error) || isTimeout(error)) {
    const cause = error.message.replace(/^.*?: (cannot connect: )?/, "");
    return new UserError(
      `cannot reach ${server}: ${cause}; see that it runs, or choose another cluster with --context or --kubeconfig`,
      { cause: error },
    );
  }
  if (isUnauthorized(error)) {
    return new UserError(
      `${server} does not know who you are (401); renew what the kubeconfig shows, or choose another user with --context`,
      { cause: error },
    );
  }
  if (isForbidden(error)) {
    const said = error.status?.message ?? error.message;
    return new UserError(
      `${server} refuses: ${said}; ask its administrator for the right, or choose another user with --context`,
      { cause: error },
    );
  }
  return error;
}

/** ` --context hub`: how the same cluster is meant in another command. */
export function targetWords({ kubeconfig, context, dir }: TargetFlags): string {
  return [
    kubeconfig === undefined ? "" : ` --kubeconfig ${kubeconfig}`,
    dir === undefined ? "" : ` --dir ${dir}`,
    context === undefined ? "" : ` --context ${context}`,
  ].join("");
}

const DONE = { create: "created", change: "changed", keep: "unchanged", delete: "deleted" } as const;

/** What a dry run found, for people to read and for programs to take apart. */
export function showPlan(changes: readonly Change[], output: "text" | "json" = "text"): void {
  if (output === "json") {
    print(JSON.stringify({ dryRun: true, changes }, undefined, 2));
  } else {
    const rows = changes.map(({ action, what, note = "" }) => {
      const [kind = "", ...name] = what.split(" ");
      return [action, kind, name.join(" "), note];
    });
    if (rows.length > 0) print(table(["Action", "Kind", "Name", "Note"], rows));
  }
  say(`Dry run: ${counted(changes, (action, count) => `${count} to ${action}`)}. Nothing was changed.`);
}

/** `✓ The operator is installed (7 created, 2 unchanged).` */
export function sayDone(sentence: string, changes: readonly Change[] = []): void {
  const what = changes.length > 0 ? ` (${counted(changes, (action, count) => `${count} ${DONE[action]}`)})` : "";
  say(`${colours.green("✓")} ${sentence}${what}`);
}

function counted(changes: readonly Change[], word: (action: Change["action"], count: number) => string): string {
  const actions = ["create", "change", "delete", "keep"] as const;
  const parts = actions.flatMap((action) => {
    const count = changes.filter((change) => change.action === action).length;
    return count > 0 ? [word(action, count)] : [];
  });
  return parts.join(", ") || "nothing to do";
}

/** Only its owner may read it: tokens may be in it. */
export async function writePrivately(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { mode: 0o600 });
  } catch (error) {
    throw new UserError(`cannot write ${path}: ${reasonOf(error)}; choose another file`);
  }
}

export function manifestText(objects: readonly object[]): string {
  return objects.map((object) => yamlText(object)).join("---\n");
}
