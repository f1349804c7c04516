import { mkdtemp, readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { writeFiles } from "./atomic-folder.ts";

async function emptyFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-folder-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return join(dir, "volume");
}

const files = (contents: Record<string, string>, mode = 0o644) =>
  new Map(Object.entries(contents).map(([path, text]) => [path, { bytes: Buffer.from(text), mode }]));

describe("files that change together", () => {
  it("are replaced by one link", async () => {
    const folder = await emptyFolder();
    await writeFiles(folder, files({ a: "1", b: "1" }));
    const before = await readlink(join(folder, "..data"));
    await writeFiles(folder, files({ a: "2", b: "2" }));
    expect(await readlink(join(folder, "..data"))).not.toBe(before);
    expect(await readlink(join(folder, "a"))).toBe("..data/a");
    expect([await readFile(join(folder, "a"), "utf8"), await readFile(join(folder, "b"), "utf8")]).toEqual(["2", "2"]);
    expect(await readdir(folder)).not.toContain(before);
  });

  it("come and go", async () => {
    const folder = await emptyFolder();
    await writeFiles(folder, files({ old: "1", "deep/er/file": "1" }));
    expect(await readFile(join(folder, "deep/er/file"), "utf8")).toBe("1");
    await writeFiles(folder, files({ new: "1" }));
    expect((await readdir(folder)).filter((name) => !name.startsWith(".."))).toEqual(["new"]);
    await writeFiles(folder, new Map());
    expect((await readdir(folder)).filter((name) => !name.startsWith(".."))).toEqual([]);
  });

  it.each([
    [0o644, 0o600],
    [0o400, 0o400],
    [0o755, 0o700],
    [0o040, 0o400],
  ])("with mode %o are %o, because others on the machine have no business with them", async (wanted, given) => {
    const folder = await emptyFolder();
    await writeFiles(folder, files({ a: "1" }, wanted));
    expect((await stat(join(folder, "a"))).mode & 0o777).toBe(given);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it.each(["../a", "/a", "a/../../b", "..data", "", "a/./b"])("never lie at %j", async (path) => {
    const folder = await emptyFolder();
    await expect(writeFiles(folder, files({ [path]: "1" }))).rejects.toThrow("leads out of its volume");
  });
});
