/** Gives out and takes away what lets clusters ask to join, for `capstan get token` and `capstan delete token`. */
import { ensureIdentity, hubToken, joinCommand, removeIdentity } from "#app";
import type { TaskFlags } from "../administration-options.ts";
import type { TokenFlags } from "../commands/get.ts";
import { print } from "../terminal.ts";
import { administer, sayDone, showPlan, writePrivately } from "./administration.ts";

export async function runGetToken(flags: TokenFlags): Promise<void> {
  await administer(flags, async (task, { server }) => {
    const { useBootstrapToken = false } = flags;
    // A bootstrap token may be asked for on a hub that has only the other kind, and the other way round.
    const changes = await ensureIdentity(task, useBootstrapToken);
    if (task.dryRun) return showPlan(changes, flags.output);
    const { token } = await hubToken(task.client, useBootstrapToken);
    const command = joinCommand(token, server, false);
    const json = JSON.stringify({ "hub-token": token, "hub-apiserver": server }, undefined, 2);
    const text = flags.output === "json" ? json : `token=${token}\nplease log on spoke and run:\n${command}`;
    if (flags.outputFile !== undefined) await writePrivately(flags.outputFile, `${text}\n`);
    print(text);
  });
}

export async function runDeleteToken(flags: TaskFlags): Promise<void> {
  await administer(flags, async (task) => {
    const changes = await removeIdentity(task);
    if (task.dryRun) return showPlan(changes);
    sayDone(changes.length > 0 ? "clusters can no longer ask to join" : "there was nothing by which to ask", changes);
  });
}
