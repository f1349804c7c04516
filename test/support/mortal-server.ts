/** An embedded API server as a process of its own: it can be killed, started again where it was, and set back to what it was. */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectionOf, createClient, loadKubeconfig } from "#kube";
import { kill, type Program, startProgram } from "../crash/program.ts";
import type { TestServer } from "./servers.ts";

export interface RestorableServer extends TestServer {
  /** Kills it without a word of warning. Ends when it serves again, at the same place. */
  crash(): Promise<void>;
  /** Puts a copy of its state aside. It is not there meanwhile. */
  backUp(): Promise<void>;
  /** Puts the copy back in the place of all that happened since. */
  restore(): Promise<void>;
}

export async function startMortal(): Promise<RestorableServer> {
  const root = await mkdtemp(join(tmpdir(), "capstan-mortal-"));
  const [dir, copy] = [join(root, "now"), join(root, "then")];
  let program: Program = await startProgram({ dir });
  const kubeconfig = await loadKubeconfig({ path: join(dir, "kubeconfig") });
  const connection = await connectionOf(kubeconfig);
  const client = createClient({ connection });
  const whileDown = async (task: () => Promise<void>) => {
    await kill(program);
    await task();
    program = await startProgram({ dir });
  };
  return {
    name: "hub",
    url: connection.server,
    authority: connection.ca ?? "",
    kubeconfig,
    client,
    auditLog: join(dir, "crash", "audit.log"),
    crash: () => whileDown(async () => {}),
    backUp: () => whileDown(() => cp(dir, copy, { recursive: true })),
    restore: () =>
      whileDown(async () => {
        await rm(dir, { recursive: true, force: true });
        await cp(copy, dir, { recursive: true });
      }),
    async close() {
      client.close();
      await kill(program);
      await rm(root, { recursive: true, force: true });
    },
  };
}
