/** The releases that can be installed: their versions, and the manifests of what somebody asks for. */
import { createHash } from "node:crypto";
import type { KnativeKind } from "#api/knative";
import { KnativeComponent } from "#api/knative";
import { identityOf, idOf, type Manifest, manifestsIn } from "#kube";
import type { Component } from "../component.ts";
import { basePath, bundledPath, extensionPaths, guardPath, isUrl, locationsOf } from "./parts.ts";
import type { ManifestText, ReleaseSource } from "./source.ts";
import { targetVersion } from "./target-version.ts";
import { LATEST, minorOf, newestFirst, withV } from "./version.ts";

/** What keeps a release from being put together; it goes away when the object, or the releases, change. */
export class ReleaseError extends Error {
  override readonly name = "ReleaseError";
}

export interface TargetRelease {
  readonly version: string;
  /** As written, in the order in which they are to be applied. */
  readonly manifests: readonly Manifest[];
  /** For `status.manifests`. */
  readonly paths: readonly string[];
}

export interface Releases {
  /** Newest first. */
  versions(kind: KnativeKind): Promise<readonly string[]>;
  /** The version that is meant. Throws ReleaseError where there is none at all. */
  targetVersion(component: Component): Promise<string>;
  /** All that is asked for. Throws ReleaseError. */
  target(component: Component): Promise<TargetRelease>;
  /** What `status.manifests` says is installed, as written. Throws ReleaseError where some of it cannot be found any more. */
  installed(paths: readonly string[]): Promise<readonly Manifest[]>;
}

export interface ReleasesOptions {
  readonly source: ReleaseSource;
  /** Gets manifests by URL; without it URLs are refused. */
  readonly fetchManifest?: (url: string) => Promise<ManifestText>;
}

/** Sets of objects that are kept parsed: all parts of a few versions. */
const KEPT = 32;

export function createReleases({ source, fetchManifest }: ReleasesOptions): Releases {
  const parsed = new Map<string, { stamp: string; manifests: readonly Manifest[] }>();

  /** What was parsed last is kept while it stays the same. */
  const kept = async (
    key: string,
    stamp: string,
    read: () => Promise<readonly ManifestText[]>,
  ): Promise<readonly Manifest[]> => {
    const known = parsed.get(key);
    parsed.delete(key);
    const entry = known?.stamp === stamp ? known : { stamp, manifests: parse(await read()) };
    parsed.set(key, entry);
    for (const oldest of parsed.keys()) {
      if (parsed.size <= KEPT) break;
      parsed.delete(oldest);
    }
    return entry.manifests;
  };

  /** Undefined where the releases have no such folder or file. */
  const bundled = async (path: string): Promise<readonly Manifest[] | undefined> => {
    const stamp = await source.stamp(path);
    return stamp === undefined ? undefined : kept(path, stamp, () => source.texts(path));
  };

  const at = async (location: string): Promise<readonly Manifest[]> => {
    if (!isUrl(location)) {
      const path = location.startsWith(`${source.root}/`) ? location.slice(source.root.length + 1) : location;
      const found = await reading(location, () => bundled(path));
      if (found) return found;
      throw new ReleaseError(`there is no ${location} in the releases; name a URL, or a path below ${source.root}`);
    }
    if (!fetchManifest) throw new ReleaseError(`${location}: manifests are not read from URLs here`);
    return reading(location, async () => {
      const text = await fetchManifest(location);
      const stamp = createHash("sha256").update(text.text).digest("hex");
      return kept(location, stamp, async () => [text]);
    });
  };

  const versions = async (kind: KnativeKind) => newestFirst(await source.folders(KnativeComponent[kind]));

  const versionOf = async ({ kind, spec }: Component): Promise<string> => {
    const available = await versions(kind);
    const version = targetVersion(spec, available);
    if (version !== "" || (spec.manifests ?? []).length > 0) return version;
    throw new ReleaseError(`there are no releases of ${kind} in ${source.root}; get some, or name spec.manifests`);
  };

  const base = async (component: Component, version: string): Promise<Part> => {
    const locations = locationsOf(component.spec.manifests, version);
    if (locations.length > 0)
      return { paths: [locations.join()], manifests: (await Promise.all(locations.map(at))).flat() };
    const path = basePath(component, version);
    const manifests = await reading(path, () => bundled(path));
    if (manifests) return { paths: [`${source.root}/${path}`], manifests };
    const others = (await versions(component.kind)).join(", ") || "none";
    const wanted = component.spec.version || version;
    throw new ReleaseError(
      `the manifests of the target version ${wanted} are not available to this release (there are: ${others})`,
    );
  };

  /** Folders that go with a version. With manifests of its own, a spec can do without them. */
  const companions = async (paths: readonly string[], isOptional: boolean): Promise<Part> => {
    const found: string[] = [];
    const manifests: Manifest[] = [];
    for (const path of paths) {
      const part = await reading(path, () => bundled(path));
      if (part) {
        found.push(`${source.root}/${path}`);
        manifests.push(...part);
      } else if (!isOptional) {
        throw new ReleaseError(
          `there is no ${path} in the releases at ${source.root}; disable it, or use a version that has it`,
        );
      }
    }
    return { paths: found.length > 0 ? [found.join()] : [], manifests };
  };

  const guard = async (component: Component, version: string, isOptional: boolean): Promise<readonly Manifest[]> => {
    const [newest = ""] = await versions(component.kind);
    const wanted = guardPath(component, version, newest);
    if (!wanted) return [];
    if ("path" in wanted) return (await companions([wanted.path], isOptional)).manifests;
    if (isOptional) return [];
    throw new ReleaseError(wanted.problem);
  };

  return {
    versions,
    targetVersion: versionOf,
    async target(component) {
      const version = await versionOf(component);
      const isOptional = (component.spec.manifests ?? []).length > 0;
      const main = await base(component, version);
      checkVersions(main, version);
      const extensions = await companions(extensionPaths(component, version), isOptional);
      const guards = await guard(component, version, isOptional);
      const locations = locationsOf(component.spec.additionalManifests, version);
      const additional: Part = { paths: [locations.join()], manifests: (await Promise.all(locations.map(at))).flat() };
      if (locations.length > 0) checkVersions(additional, version);
      return {
        version,
        manifests: replaced([...main.manifests, ...extensions.manifests, ...guards], additional.manifests),
        paths: [...main.paths, ...(locations.length > 0 ? additional.paths : []), ...extensions.paths],
      };
    },
    async installed(paths) {
      const locations = paths.flatMap((path) => path.split(",")).filter(Boolean);
      const places = locations.map((each) => (isUrl(each) ? each : (bundledPath(each) ?? each)));
      return (await Promise.all(places.map(at))).flat();
    },
  };
}

interface Part {
  readonly paths: readonly string[];
  readonly manifests: readonly Manifest[];
}

/** Whatever goes wrong names what was being read. */
async function reading<T>(what: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ReleaseError) throw error;
    throw new ReleaseError(`read ${what}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function parse(texts: readonly ManifestText[]): readonly Manifest[] {
  const found = texts.map(({ name, text }) => manifestsIn(text, name, { generatedNames: true }));
  const problems = found.flatMap((each) => each.problems);
  const [first, ...others] = problems;
  if (first !== undefined) throw new Error(others.length > 0 ? `${first} (and ${others.length} more)` : first);
  return found.flatMap((each) => each.manifests);
}

const VERSION_LABEL = "app.kubernetes.io/version";

/** What says of itself that it belongs to another version is a mistake of whoever put it there. */
function checkVersions({ manifests, paths }: Part, version: string): void {
  if (manifests.length === 0) {
    throw new ReleaseError(`there is no resource available in the target manifests ${paths.join()}`);
  }
  if (version === "" || version === LATEST) return;
  for (const { object } of manifests) {
    const label = object.metadata.labels?.[VERSION_LABEL] ?? "";
    if (label === "" || minorOf(label) === minorOf(version)) continue;
    const { name } = object.metadata;
    throw new ReleaseError(
      `the version of the manifests ${withV(label)} of the component ${name} does not match the target version of the operator CR ${withV(version)}`,
    );
  }
}

/** The additional ones come last, and in place of those that they repeat. */
function replaced(manifests: readonly Manifest[], additional: readonly Manifest[]): readonly Manifest[] {
  const repeated = new Set(additional.map(identity));
  return [...manifests.filter((manifest) => !repeated.has(identity(manifest))), ...additional];
}

/** What is yet to be named is told apart by what its name will begin with. */
function identity({ object }: Manifest): string {
  return identityOf({ ...idOf(object), name: object.metadata.name ?? object.metadata.generateName ?? "" });
}
