import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { eventually } from "../../../../test/support/eventually.ts";
import { followProviderFile, isAccessFailure, type ProviderSource } from "./index.ts";

let folder: string;
let path: string;
let clock: ManualClock;
const sources: ProviderSource[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "providers-"));
  path = join(folder, "f.json");
  clock = new ManualClock();
});
afterEach(async () => {
  for (const source of sources.splice(0)) source.close();
  await rm(folder, { recursive: true, force: true });
});

async function follow(file: string | undefined = path): Promise<ProviderSource> {
  const source = await followProviderFile({ path: file, clock, log: silentLog });
  sources.push(source);
  return source;
}

const text = (...names: string[]) => JSON.stringify({ providers: names.map((name) => ({ name })) });
const names = (source: ProviderSource) => {
  const current = source.current();
  return isAccessFailure(current) ? current.reason : current.providers.map(({ name }) => name);
};

/** As editors and Kubernetes do it: a new file takes the place of the old one. */
async function replace(content: string): Promise<void> {
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}

describe("the provider file", () => {
  it("is read again when it is written, replaced, and replaced again", async () => {
    await writeFile(path, text("a"));
    const source = await follow();
    let changes = 0;
    const stop = source.onChange(() => changes++);
    expect(names(source)).toEqual(["a"]);

    await replace(text("b"));
    await eventually(() => expect(names(source)).toEqual(["b"]));
    await writeFile(path, text("c"));
    await eventually(() => expect(names(source)).toEqual(["c"]));
    await replace(text("d"));
    await eventually(() => expect(names(source)).toEqual(["d"]));
    expect(changes).toBe(3);

    stop();
    await replace(text("e"));
    await eventually(() => expect(names(source)).toEqual(["e"]));
    expect(changes).toBe(3);
  });

  it("is followed through the links by which Kubernetes mounts it", async () => {
    const mount = join(folder, "mount");
    for (const version of ["..1", "..2"]) {
      await mkdir(join(mount, version), { recursive: true });
      await writeFile(join(mount, version, "f.json"), text(version));
    }
    await symlink("..1", join(mount, "..data"));
    await symlink("..data/f.json", join(mount, "f.json"));
    const source = await follow(join(mount, "f.json"));
    expect(names(source)).toEqual(["..1"]);
    await symlink("..2", join(mount, "..data_tmp"));
    await rename(join(mount, "..data_tmp"), join(mount, "..data"));
    await eventually(() => expect(names(source)).toEqual(["..2"]));
  });

  it("stays in use while the new one makes no sense or is gone", async () => {
    await writeFile(path, text("a"));
    const source = await follow();
    await replace("{");
    await eventually(() => expect(source.problem()).toContain("is neither JSON nor YAML"));
    expect(names(source)).toEqual(["a"]);
    await unlink(path);
    await eventually(() => expect(source.problem()).toContain("cannot be read: ENOENT"));
    expect(names(source)).toEqual(["a"]);
    await replace(text("b"));
    await eventually(() => expect(names(source)).toEqual(["b"]));
    expect(source.problem()).toBeUndefined();
  });

  it("may come later than we do", async () => {
    const source = await follow();
    expect(source.current()).toEqual({
      reason: "AccessProviderNotConfigured",
      message: `provider file ${path} cannot be read: ENOENT`,
    });
    await replace(text("a"));
    await eventually(() => expect(names(source)).toEqual(["a"]));
  });

  it("may come with its folder, which is looked for now and then", async () => {
    const inner = join(folder, "later");
    const source = await follow(join(inner, "f.json"));
    await mkdir(inner);
    await writeFile(join(inner, "f.json"), text("a"));
    clock.advance(10_000);
    await eventually(() => expect(names(source)).toEqual(["a"]));
  });

  it("is not missed by those who do not use it", async () => {
    const source = await follow("");
    expect(source.current()).toEqual({
      reason: "AccessProviderNotConfigured",
      message: "there is no provider file; name one with --clusterprofile-provider-file",
    });
  });
});
