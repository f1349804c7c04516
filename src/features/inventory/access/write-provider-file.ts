/** Writes provider files so that a reader never meets half of one. */
import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { type Provider, providerFileText } from "./provider-file.ts";

/** For its owner only, because variables of plugins may hold secrets. Nothing is written where nothing would change. */
export async function writeProviderFile(path: string, providers: readonly Provider[]): Promise<void> {
  const text = providerFileText(providers);
  if ((await readFile(path, "utf8").catch(() => undefined)) === text) return;
  const aside = `${path}.${randomUUID()}`;
  try {
    await writeFile(aside, text, { mode: 0o600, flag: "wx" });
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw new Error(`write provider file ${path}: ${(error as Error).message}`, { cause: error });
  }
}
