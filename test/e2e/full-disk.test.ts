/** A disk that is full for a while: writes are refused, reads go on, and when there is room again all is as it was. */
import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { isKubeError } from "#kube";
import { kill, type Program, startProgram } from "../crash/program.ts";
import { eventually } from "../support/eventually.ts";

/** A way to run out of room. */
interface Shortage {
  readonly isPossible: boolean;
  start(dir: string): Promise<Program>;
  /** Where the files of the server can be seen from here. */
  folder(program: Program, dir: string): string;
  begin(program: Program, folder: string): Promise<void>;
  end(program: Program, folder: string): void;
}

const TMPFS = ["unshare", "--map-root-user", "--mount", "sh", "-c"];
const MOUNT = 'mount -t tmpfs -o size=16m,mode=700 tmpfs "$0" && exec "$@"';

/** A small file system of its own, in memory, which nobody but the server sees. */
const fullFileSystem: Shortage = {
  isPossible: succeeds([...TMPFS, MOUNT, "/mnt", "true"]),
  start: (dir) =>
    startProgram({ dir, through: [...TMPFS, MOUNT, dir], kubeconfigIn: (pid) => `/proc/${pid}/root${dir}` }),
  folder: ({ child }, dir) => `/proc/${child.pid}/root${dir}`,
  async begin(_, folder) {
    const ballast = openSync(join(folder, "ballast"), "w");
    const fill = (piece: Buffer) => {
      try {
        for (;;) writeSync(ballast, piece);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
    };
    fill(Buffer.alloc(1024 * 1024));
    fill(Buffer.alloc(4096));
    closeSync(ballast);
  },
  end: (_, folder) => rmSync(join(folder, "ballast")),
};

/** No file may grow beyond a few bytes more than the log has: writes end in the middle of a record. */
const limitedFiles: Shortage = {
  isPossible: succeeds(["prlimit", "--fsize=1000000:unlimited", "true"]),
  start: (dir) => startProgram({ dir }),
  folder: (_, dir) => dir,
  async begin({ child }, folder) {
    const data = join(folder, "data/crash");
    const logs = (await readdir(data)).filter((name) => name.endsWith(".wal"));
    const longest = Math.max(...logs.map((name) => statSync(join(data, name)).size));
    execFileSync("prlimit", ["--pid", String(child.pid), `--fsize=${longest + 100}:unlimited`]);
  },
  end: ({ child }) => void execFileSync("prlimit", ["--pid", String(child.pid), "--fsize=unlimited:unlimited"]),
};

function succeeds([command = "", ...args]: string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

/** Beside them there is what the cluster itself puts into every namespace. */
const isOurs = (name: string) => /^(before|refused)/.test(name);

const configMap = (name: string, size = 20_000) => ({
  metadata: { namespace: "default", name },
  data: { padding: "x".repeat(size) },
});

describe("a server that runs out of room", () => {
  let dir: string;
  let program: Program | undefined;
  beforeAll(() => {
    execFileSync(process.execPath, [fileURLToPath(new URL("../../tools/build.mjs", import.meta.url))]);
  }, 60_000);
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "capstan-full-"));
  });
  afterEach(async () => {
    if (program) await kill(program);
    program = undefined;
    for (const folder of [dir, `${dir}-copy`]) await rm(folder, { recursive: true, force: true });
  });

  // Not every system lets those do it who are not root.
  it.skipIf(!fullFileSystem.isPossible)("on a full file system goes on when there is room again", () =>
    goesOnAfter(fullFileSystem),
  );
  it.skipIf(!limitedFiles.isPossible)("at the end of a file goes on when there is room again", () =>
    goesOnAfter(limitedFiles),
  );

  async function goesOnAfter(shortage: Shortage): Promise<void> {
    program = await shortage.start(dir);
    const { client } = program;
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { type, object } of await client.watch(ConfigMap, { namespace: "default" }))
        if (isOurs(object.metadata.name)) seen.push(`${type} ${object.metadata.name}`);
    })().catch(() => {}); // ends when the server is killed

    await client.create(ConfigMap, configMap("before"));
    const folder = shortage.folder(program, dir);
    await shortage.begin(program, folder);
    for (const name of ["refused-1", "refused-2", "refused-3"]) {
      const refusal = await client.create(ConfigMap, configMap(name)).catch((error: unknown) => error);
      expect(isKubeError(refusal) && refusal.message).toMatch(/cannot write .*log-.*: (ENOSPC|EFBIG)/);
    }
    expect((await client.get(ConfigMap, "default/before")).data?.padding).toHaveLength(20_000);
    expect(await names(program)).toEqual(["before"]);

    shortage.end(program, folder);
    await client.create(ConfigMap, configMap("refused-2"));
    await client.patch(ConfigMap, "default/before", { data: { padding: "short" } });
    await eventually(() => expect(seen).toEqual(["ADDED before", "ADDED refused-2", "MODIFIED before"]));

    await cp(folder, `${dir}-copy`, { recursive: true });
    await kill(program);
    await watching;
    program = await startProgram({ dir: `${dir}-copy` });
    expect(await names(program)).toEqual(["before", "refused-2"]);
    expect((await program.client.get(ConfigMap, "default/before")).data?.padding).toBe("short");
  }

  async function names({ client }: Program): Promise<string[]> {
    const { items } = await client.list(ConfigMap, { namespace: "default" });
    return items.map(({ metadata }) => metadata.name).filter(isOurs);
  }
});
