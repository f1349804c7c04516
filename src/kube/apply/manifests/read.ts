/** Manifests from files, folders and standard input. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { equal } from "#lib/json";
import { identityOf, idOf, nameOf } from "../identity.ts";
import { type Manifest, type Manifests, manifestsIn } from "./objects.ts";

/** What is wrong with manifests; nothing of them should be applied. */
export class ManifestError extends Error {
  override readonly name = "ManifestError";
  /** One sentence each, with file, document and line. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const [first = "there are no manifests", ...others] = problems;
    super(others.length === 0 ? first : `${first} (and ${others.length} more)`);
    this.problems = problems;
  }
}

export interface ReadManifestsOptions {
  /** Gives the text of standard input, for the path `-`. */
  readonly stdin?: () => Promise<string>;
  /** Whether folders in folders are read too. */
  readonly recursive?: boolean;
}

const EXTENSIONS = /\.(?:ya?ml|json)$/;
/** All texts together; more would not fit beside what is made of them. */
const LARGEST_TEXT = 256 * 1024 * 1024;

/**
 * All objects of all paths, each once, in order: files of a folder by name. Throws ManifestError with all that is wrong,
 * such as an object that is there twice with different content.
 */
export async function readManifests(
  paths: readonly string[],
  options: ReadManifestsOptions = {},
): Promise<readonly Manifest[]> {
  const found: Manifests[] = [];
  const problems: string[] = [];
  let size = 0;
  for (const path of paths) {
    for await (const { name, text, problem } of textsAt(path, options)) {
      if (problem !== undefined) problems.push(problem);
      size += text.length;
      if (size > LARGEST_TEXT)
        throw new ManifestError([`${name}: the manifests are larger than ${LARGEST_TEXT} bytes`]);
      found.push(manifestsIn(text, name));
    }
  }
  problems.push(...found.flatMap((each) => each.problems));
  const { manifests, contradictions } = withoutRepetition(found.flatMap((each) => each.manifests));
  problems.push(...contradictions);
  if (problems.length === 0 && manifests.length === 0) problems.push(`${paths.join(", ")}: there are no objects in it`);
  if (problems.length > 0) throw new ManifestError(problems);
  return manifests;
}

/** What is written twice in the same words is meant once; in other words nobody can tell what is meant. */
function withoutRepetition(all: readonly Manifest[]): { manifests: Manifest[]; contradictions: string[] } {
  const groups = new Map<string, Manifest[]>();
  for (const manifest of all) {
    const identity = identityOf(idOf(manifest.object));
    const group = groups.get(identity);
    if (!group) groups.set(identity, [manifest]);
    else if (!group.some(({ object }) => equal(object, manifest.object))) group.push(manifest);
  }
  const contradictions = [...groups.values()].flatMap(([first, second]) =>
    first && second ? [`${second.source}: ${nameOf(idOf(second.object))} is different from ${first.source}`] : [],
  );
  return { manifests: [...groups.values()].flatMap(([first]) => first ?? []), contradictions };
}

interface Text {
  readonly name: string;
  readonly text: string;
  readonly problem?: string;
}

async function* textsAt(path: string, { stdin, recursive = false }: ReadManifestsOptions): AsyncGenerator<Text> {
  if (path === "-") {
    if (stdin) yield { name: "standard input", text: await stdin() };
    else yield failed("-", "there is no standard input here");
    return;
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) {
    yield failed(path, "URLs are not read; download it first, and look at it");
    return;
  }
  try {
    if (!(await stat(path)).isDirectory()) {
      yield await textOf(path);
      return;
    }
    const files = await filesIn(path, recursive);
    if (files.length === 0) yield failed(path, "there is no .yaml, .yml or .json file in it");
    for (const file of files) yield await textOf(file);
  } catch (error) {
    yield failed(path, reasonOf(error));
  }
}

async function filesIn(folder: string, recursive: boolean): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (recursive) found.push(...(await filesIn(path, recursive)));
    } else if (EXTENSIONS.test(entry.name)) found.push(path);
  }
  return found;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

async function textOf(path: string): Promise<Text> {
  const { size } = await stat(path);
  if (size > LARGEST_TEXT) return failed(path, `it is larger than ${LARGEST_TEXT} bytes`);
  const bytes = await readFile(path);
  try {
    return { name: path, text: utf8.decode(bytes) };
  } catch {
    return failed(path, "it is not valid UTF-8");
  }
}

function failed(name: string, why: string): Text {
  return { name, text: "", problem: `${name}: ${why}` };
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "there is no such file";
  if (code === "EACCES") return "it may not be read";
  return message;
}
