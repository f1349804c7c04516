/**
 * Where the manifests of Knative's releases lie, in the layout of upstream's operator:
 *
 *     knative-serving/1.23.0/*.yaml          knative-eventing/1.23.0/*.yaml
 *     ingress/1.23/kourier/*.yaml            eventing-source/1.23/kafka/*.yaml
 *     security-guard/0.6/*.yaml
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { join, normalize, resolve, sep } from "node:path";
import type { DynamicObject } from "#api/meta";
import { stringifyJson } from "#lib/json";
import { orAbsent } from "./absent.ts";

/** A text with manifests, and what to call it in messages. */
export interface ManifestText {
  readonly name: string;
  readonly text: string;
}

export interface ReleaseSource {
  /** How its paths begin in `status.manifests`. */
  readonly root: string;
  /** The folders in a folder; none where it is absent. */
  folders(path: string): Promise<readonly string[]>;
  /** Another one whenever what lies at the path has changed; undefined where nothing does. */
  stamp(path: string): Promise<string | undefined>;
  /** One file, or the files of a folder by name, without those of folders in it. */
  texts(path: string): Promise<readonly ManifestText[]>;
}

const EXTENSIONS = /\.(?:ya?ml|json)$/;
/** More than ten times what the largest file of a release has. */
const LARGEST_FILE = 16 * 1024 * 1024;

export function directorySource(folder: string): ReleaseSource {
  const root = resolve(folder);
  const filesAt = async (path: string): Promise<string[]> => {
    const at = join(root, inside(path));
    if (!(await stat(at)).isDirectory()) return [at];
    const names = await readdir(at, { withFileTypes: true });
    return names
      .filter((entry) => !entry.isDirectory() && EXTENSIONS.test(entry.name) && !entry.name.startsWith("."))
      .map((entry) => join(at, entry.name))
      .sort();
  };

  return {
    root,
    async folders(path) {
      const at = join(root, inside(path));
      const entries = (await orAbsent(readdir(at))) ?? [];
      const kinds = await Promise.all(
        entries.map(async (name) => ((await orAbsent(stat(join(at, name))))?.isDirectory() ? [name] : [])),
      );
      return kinds.flat().filter((name) => !name.startsWith("."));
    },
    async stamp(path) {
      const files = await orAbsent(filesAt(path));
      if (!files) return undefined;
      const stats = await Promise.all(files.map(async (file) => ({ file, ...(await stat(file, { bigint: true })) })));
      return stats.map(({ file, size, mtimeNs, ino }) => `${file} ${size} ${mtimeNs} ${ino}`).join("\n");
    },
    async texts(path) {
      const files = await filesAt(path);
      return Promise.all(
        files.map(async (name) => {
          if ((await stat(name)).size > LARGEST_FILE) throw new Error(`${name} is larger than ${LARGEST_FILE} bytes`);
          return { name, text: await readFile(name, "utf8") };
        }),
      );
    },
  };
}

/** Releases that a program holds itself: objects by the path of their file. */
export function memorySource(root: string, files: Readonly<Record<string, readonly DynamicObject[]>>): ReleaseSource {
  const paths = Object.keys(files).sort();
  const filesAt = (path: string) =>
    paths.filter(
      (file) => file === path || (file.startsWith(`${path}/`) && !file.slice(path.length + 1).includes("/")),
    );
  return {
    root,
    async folders(path) {
      const below = paths.filter((file) => file.startsWith(`${path}/`)).map((file) => file.slice(path.length + 1));
      return [...new Set(below.filter((rest) => rest.includes("/")).map((rest) => rest.slice(0, rest.indexOf("/"))))];
    },
    async stamp(path) {
      const found = filesAt(inside(path));
      return found.length > 0 ? found.join("\n") : undefined;
    },
    async texts(path) {
      return filesAt(inside(path)).map((file) => ({
        name: `${root}/${file}`,
        text: (files[file] ?? []).map((object) => stringifyJson(object)).join("\n---\n"),
      }));
    },
  };
}

/** A path that stays below the root: versions and paths come from whoever may write the object. */
function inside(path: string): string {
  const plain = normalize(path);
  if (plain.startsWith("..") || plain.startsWith(sep) || plain.includes("\0")) {
    throw new Error(`${path} does not lie in the folder of the releases`);
  }
  return plain;
}
