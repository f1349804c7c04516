import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock as clock } from "#lib/clock";
import { eventually } from "../../../../test/support/eventually.ts";
import { asChildren } from "./child-process.ts";

/** Runs a script as a program, and keeps what it writes. */
async function run(script: string, order: { args?: string[]; env?: Record<string, string> } = {}) {
  const dir = await mkdtemp(join(tmpdir(), "capstan-child-"));
  const entry = join(dir, "entry.mjs");
  await writeFile(entry, script);
  const lines: string[] = [];
  let readiness = 0;
  const execution = asChildren({ entry, clock })({
    args: [],
    env: {},
    mounts: [{ path: "/in", real: "/out" }],
    write: (line) => void lines.push(line),
    ready: () => void readiness++,
    ...order,
  });
  onTestFinished(async () => {
    execution.kill();
    await execution.ended;
    await rm(dir, { recursive: true, force: true });
  });
  return { ...execution, lines, readiness: () => readiness };
}

describe("a program as a process of its own", () => {
  it("is told its mounts before its arguments, writes lines, says that it works, and has an exit code", async () => {
    const { ended, lines, readiness } = await run(
      `console.log(process.argv.slice(2).join(" ")); console.error("two\\nlines");
       process.send({ ready: true }, () => process.exit(5));`,
      { args: ["hub", "--x"] },
    );
    expect(await ended).toBe(5);
    expect(lines.toSorted()).toEqual(["--mount=/in=/out hub --x", "lines", "two"]);
    expect(readiness()).toBe(1);
  });

  it("is asked to end before it is ended", async () => {
    const polite = await run(
      `process.on("SIGTERM", () => process.exit(0)); console.log("up"); setInterval(() => {}, 1e6);`,
    );
    await eventually(() => expect(polite.lines).toEqual(["up"]));
    polite.stop();
    expect(await polite.ended).toBe(0);
    const deaf = await run(
      `process.on("SIGTERM", () => console.log("no")); console.log("up"); setInterval(() => {}, 1e6);`,
    );
    await eventually(() => expect(deaf.lines).toEqual(["up"]));
    deaf.stop();
    await eventually(() => expect(deaf.lines).toEqual(["up", "no"]));
    deaf.kill();
    expect(await deaf.ended).toBe(137);
  });

  it("takes with it what it has started", async () => {
    const { ended, lines } = await run(
      `import { spawn } from "node:child_process";
       const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "ignore" });
       console.log(child.pid); child.unref(); process.send(1, () => process.exit(0));`,
    );
    expect(await ended).toBe(0);
    await eventually(() => expect(() => process.kill(Number(lines[0]), 0)).toThrow());
  });

  it("that the system refuses to start has failed, and says why", async () => {
    const { ended, lines } = await run("", { env: { BAD: "a\0b" } });
    expect(await ended).toBe(128);
    expect(lines).toEqual([expect.stringContaining("the program cannot be started:")]);
  });
});
