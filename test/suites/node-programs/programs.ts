/** Programs in the place of Capstan's own, by their first argument, and what the test can see of them. */
import { readFile } from "node:fs/promises";
import { SelfSubjectReview } from "#api/authentication";
import type { ProgramContext, RunProgram } from "#app";
import { createClient, inClusterConnection } from "#kube";

export interface Programs {
  readonly run: RunProgram;
  /** Of the programs that were begun, oldest first, by the name of their Pod. */
  of(pod: string): readonly ProgramContext[];
}

export function programs(): Programs {
  const begun: ProgramContext[] = [];
  return {
    of: (pod) => begun.filter(({ env }) => env.HOSTNAME === pod),
    async run(context) {
      begun.push(context);
      return (PROGRAMS[context.args[0] ?? ""] ?? serve)(context);
    },
  };
}

const PROGRAMS: Readonly<Record<string, RunProgram>> = {
  async whoami(context) {
    const { env, resolve, write, ready, signal } = context;
    const connection = await inClusterConnection({ env, read: (path) => readFile(resolve(path), "utf8") });
    if (!connection) throw new Error("this is no Pod");
    const client = createClient({ connection });
    const { status } = await client.create(SelfSubjectReview, { metadata: {} });
    client.close();
    write(`I am ${status?.userInfo?.username}`);
    ready();
    await fired(signal);
    return 0;
  },
  async crash({ write }) {
    write("no luck today");
    return 3;
  },
  async throw() {
    throw new Error("a fault in the program");
  },
  async unready({ signal }) {
    await fired(signal);
    return 0;
  },
  async stubborn({ ready }) {
    ready();
    return new Promise(() => {});
  },
};

const serve: RunProgram = async ({ args, write, ready, signal }) => {
  write(`serving ${args.join(" ")}`);
  ready();
  await fired(signal);
  write("good bye");
  return 0;
};

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
