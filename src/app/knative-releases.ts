/** Which releases of Knative a hub installs: a folder's, the official ones, or the demonstration. */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  createManifestFetcher,
  directorySource,
  knownVersions,
  type ManifestText,
  officialSource,
  type PulledFile,
  pullOfficial,
  type ReleaseSource,
  targetVersion,
} from "#features/knative";
import { demonstrationSource } from "#features/knative/demonstration";
import { reasonOf, UserError } from "./user-error.ts";

export interface ReleaseSettings {
  /** A folder with releases, in place of all others. */
  readonly manifests?: string;
  /** Where official releases are kept that were pulled or downloaded, and manifests by URL. */
  readonly cache: string;
  /** A mirror of the official releases. */
  readonly mirror?: string;
  /** Hosts that manifests may come from although they are this machine's or its neighbours', or do not encrypt. */
  readonly allowHosts?: readonly string[];
  /** Whether the demonstration takes the place of the official releases. */
  readonly demonstration?: boolean;
}

export interface ReleaseChoice {
  readonly source: ReleaseSource;
  readonly fetchManifest: (url: string) => Promise<ManifestText>;
  /** Whether what is installed is no Knative, but looks like it. */
  readonly isDemonstration: boolean;
}

export async function knativeReleases(settings: ReleaseSettings): Promise<ReleaseChoice> {
  const { manifests, demonstration = false } = settings;
  const fetcher = fetcherFor(settings);
  const fetchManifest = (url: string) => fetcher.pull(url);
  if (manifests !== undefined) {
    return { source: directorySource(await folder(manifests)), fetchManifest, isDemonstration: false };
  }
  if (demonstration) return { source: demonstrationSource(), fetchManifest, isDemonstration: true };
  return { source: officialSource({ ...placeOf(settings), fetcher }), fetchManifest, isDemonstration: false };
}

export interface PullOptions extends ReleaseSettings {
  /** Which of the two; both unless told. */
  readonly kinds: readonly ("KnativeServing" | "KnativeEventing")[];
  /** `1.23` means the newest patch that is known. */
  readonly version: string;
  readonly ingresses: readonly string[];
  readonly sources: readonly string[];
  /** Whether what is there now shall be what is meant from then on, though it was something else before. */
  readonly refresh: boolean;
}

/** Puts official releases where a hub without a network can read them. */
export async function pullKnative(options: PullOptions): Promise<readonly PulledFile[]> {
  const { kinds, version, ingresses, sources, refresh } = options;
  const folders = kinds.flatMap((kind) => {
    const exact = targetVersion({ version }, knownVersions(kind));
    if (!/^\d+\.\d+\.\d+$/.test(exact)) {
      const known = knownVersions(kind).join(", ");
      throw new UserError(`there is no known release ${version} of ${kind}; name one like 1.23.0 (known are ${known})`);
    }
    const minor = exact.slice(0, exact.lastIndexOf("."));
    return kind === "KnativeServing"
      ? [`knative-serving/${exact}`, ...ingresses.map((name) => `ingress/${minor}/${name}`)]
      : [`knative-eventing/${exact}`, ...sources.map((name) => `eventing-source/${minor}/${name}`)];
  });
  try {
    return await pullOfficial(folders, { ...placeOf(options), fetcher: fetcherFor(options), refresh });
  } catch (error) {
    throw new UserError(`cannot pull: ${reasonOf(error)}`, { cause: error });
  }
}

/** Downloads lie beside what was made of them, out of sight of whoever looks for versions. */
function fetcherFor({ cache, allowHosts = [] }: ReleaseSettings) {
  return createManifestFetcher({ dir: join(resolve(cache), ".downloads"), allowHosts });
}

function placeOf({ cache, mirror }: ReleaseSettings): { dir: string; address?: string } {
  return { dir: resolve(cache), ...(mirror !== undefined && { address: mirror }) };
}

/** Said at once: a hub that finds no releases later would only say it in conditions. */
async function folder(path: string): Promise<string> {
  const absolute = resolve(path);
  try {
    if ((await stat(absolute)).isDirectory()) return absolute;
  } catch (error) {
    throw new UserError(`cannot read the releases in ${absolute}: ${reasonOf(error)}; correct --knative-manifests`);
  }
  throw new UserError(`${absolute} is no folder of releases; correct --knative-manifests`);
}
