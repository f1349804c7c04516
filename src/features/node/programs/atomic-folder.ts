/**
 * Files that change together. A reader sees all of the old ones or all of the new: they lie in a folder of their own,
 * `..data` leads there, and it is this one link that is replaced. So kubelets do it, and programs that watch files
 * know it.
 */
import { randomBytes } from "node:crypto";
import { lstat, mkdir, readdir, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";

export interface FileContent {
  readonly bytes: Buffer;
  readonly mode: number;
}

/** By their paths inside the folder. */
export type Files = ReadonlyMap<string, FileContent>;

const DATA = "..data";
const FOLDER_MODE = 0o700;

/** Others on this machine have no business with them, whatever the Pod says; the owner has to be able to read. */
function ownerOnly(mode: number): number {
  return (mode & 0o700) | 0o400;
}

export async function writeFiles(folder: string, files: Files): Promise<void> {
  for (const path of files.keys()) assertInside(path);
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const before = await readlink(join(folder, DATA)).catch(() => undefined);
  const name = `..${Date.now()}.${randomBytes(4).toString("hex")}`;
  await mkdir(join(folder, name), { mode: FOLDER_MODE });
  for (const [path, { bytes, mode }] of files) {
    const file = join(folder, name, path);
    await mkdir(dirname(file), { recursive: true, mode: FOLDER_MODE });
    await writeFile(file, bytes, { mode: ownerOnly(mode) });
  }
  await symlink(name, join(folder, `${name}.link`));
  await rename(join(folder, `${name}.link`), join(folder, DATA));
  await showOnly(folder, new Set([...files.keys()].map((path) => path.split("/")[0] ?? path)));
  if (before !== undefined) await rm(join(folder, before), { recursive: true, force: true });
}

/** What a reader meets in the folder: a link for each file, or for the first step of the way to it. */
async function showOnly(folder: string, names: ReadonlySet<string>): Promise<void> {
  const shown = (await readdir(folder)).filter((name) => !name.startsWith(".."));
  for (const name of shown) if (!names.has(name)) await rm(join(folder, name), { force: true });
  for (const name of names) {
    const isThere = await lstat(join(folder, name)).catch(() => undefined);
    if (!isThere) await symlink(join(DATA, name), join(folder, name));
  }
}

/** A server lets no such path pass; a file outside of the folder would be somebody else's. */
function assertInside(path: string): void {
  const [first] = path.split("/");
  const isInside = path !== "" && !posix.isAbsolute(path) && posix.normalize(path) === path && !first?.startsWith("..");
  if (!isInside) throw new Error(`the path "${path}" leads out of its volume`);
}
