/** Finding and reading kubeconfig files. */
import { readFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { type Kubeconfig, KubeconfigError, type Material, mergeKubeconfigs } from "./model.ts";
import { parseKubeconfig } from "./parse.ts";

/** How files are read: the file system, unless a test or a program has another. */
export type ReadText = (path: string) => Promise<string>;

export const readTextFile: ReadText = (path) => readFile(path, "utf8");

/** The PEM that is meant; `what` is how messages call it. */
export async function pemOf(material: Material | undefined, what: string, read: ReadText): Promise<string | undefined> {
  if (!material) return undefined;
  if ("pem" in material) return material.pem;
  try {
    return await read(material.file);
  } catch (error) {
    const { message } = error as Error;
    throw new KubeconfigError(`${what}: ${material.file} cannot be read: ${message}`, { cause: error });
  }
}

export interface KubeconfigSource {
  /** The file that the user named; it alone is read then, and it must exist. */
  path?: string;
  /** The value of the variable KUBECONFIG: a list of files; those that do not exist are passed over. */
  variable?: string;
  /** The user's home, for `.kube/config`. */
  home?: string;
  /** Where relative paths start. */
  cwd?: string;
  read?: ReadText;
}

/** Reads the kubeconfig that kubectl would read. */
export async function loadKubeconfig(source: KubeconfigSource): Promise<Kubeconfig> {
  const { path, cwd = ".", read = readTextFile } = source;
  if (path) {
    const config = await readKubeconfig(resolve(cwd, path), read);
    if (!config) throw new KubeconfigError(`kubeconfig ${path} does not exist`);
    return config;
  }

  const candidates = candidatesOf(source).map((file) => resolve(cwd, file));
  if (candidates.length === 0) throw new KubeconfigError("no kubeconfig: name one, or set KUBECONFIG");
  const configs = await Promise.all(candidates.map((file) => readKubeconfig(file, read)));
  const found = configs.filter((config) => config !== undefined);
  if (found.length === 0) {
    throw new KubeconfigError(`no kubeconfig: ${candidates.join(", ")} not found; name one, or set KUBECONFIG`);
  }
  return mergeKubeconfigs(found);
}

function candidatesOf({ variable = "", home }: KubeconfigSource): string[] {
  const listed = [...new Set(variable.split(delimiter).filter((entry) => entry !== ""))];
  if (listed.length > 0) return listed;
  return home ? [join(home, ".kube", "config")] : [];
}

async function readKubeconfig(file: string, read: ReadText): Promise<Kubeconfig | undefined> {
  let text: string;
  try {
    text = await read(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new KubeconfigError(`kubeconfig ${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  return parseKubeconfig(text, file);
}
