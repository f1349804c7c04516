/**
 * The official releases, file by file as upstream publishes them. What was pulled lies in a folder in the layout of
 * all releases; what was not is read over the network when somebody asks for it, and kept.
 */
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { KnativeComponent, type KnativeKind } from "#api/knative";
import type { ManifestFetcher } from "./fetcher.ts";
import { directorySource, type ManifestText, type ReleaseSource } from "./source.ts";

/** Where upstream publishes. A mirror has the same paths below its own address. */
const OFFICIAL_ADDRESS = "https://github.com";

/** The newest of each minor version that upstream's operator carried when this was written. Others can be named too. */
const KNOWN: Readonly<Record<KnativeComponent, readonly string[]>> = {
  "knative-serving": ["1.20.3", "1.21.3", "1.22.1", "1.23.0"],
  "knative-eventing": ["1.20.3", "1.21.4", "1.22.2", "1.23.0"],
};

interface Published {
  readonly repository: string;
  /** In the order in which they are to be applied. */
  readonly files: readonly string[];
}

const COMPONENTS: Readonly<Record<KnativeComponent, Published>> = {
  "knative-serving": {
    repository: "knative/serving",
    files: ["serving-crds", "serving-core", "serving-hpa", "serving-post-install-jobs"],
  },
  "knative-eventing": {
    repository: "knative/eventing",
    files: [
      "eventing-crds",
      "eventing-core",
      "eventing-tls-networking",
      "in-memory-channel",
      "mt-channel-broker",
      "eventing-post-install",
    ],
  },
};

const INGRESSES: Readonly<Record<string, Published>> = {
  contour: { repository: "knative-extensions/net-contour", files: ["net-contour"] },
  "gateway-api": { repository: "knative-extensions/net-gateway-api", files: ["net-gateway-api"] },
  istio: { repository: "knative-extensions/net-istio", files: ["net-istio"] },
  kourier: { repository: "knative-extensions/net-kourier", files: ["kourier"] },
};

const SOURCES: Readonly<Record<string, Published>> = {
  ceph: { repository: "knative-extensions/eventing-ceph", files: ["ceph"] },
  github: { repository: "knative-extensions/eventing-github", files: ["github"] },
  gitlab: { repository: "knative-extensions/eventing-gitlab", files: ["gitlab"] },
  kafka: {
    repository: "knative-extensions/eventing-kafka-broker",
    files: ["eventing-kafka-controller", "eventing-kafka-source", "eventing-kafka-post-install"],
  },
  rabbitmq: { repository: "knative-extensions/eventing-rabbitmq", files: ["rabbitmq-source"] },
  redis: { repository: "knative-extensions/eventing-redis", files: ["redis-source"] },
};

export interface OfficialFile {
  /** Below the folder of the releases. */
  readonly path: string;
  readonly url: string;
}

/** The files of a folder of the releases; undefined for a folder that upstream does not publish so. */
export function officialFiles(folder: string, address = OFFICIAL_ADDRESS): readonly OfficialFile[] | undefined {
  const published = publishedAs(folder);
  if (!published) return undefined;
  const { repository, files, version, isNumbered } = published;
  return files.map((file, index) => ({
    path: `${folder}/${isNumbered ? `${index + 1}-` : ""}${file}.yaml`,
    url: `${address}/${repository}/releases/download/knative-v${version}/${file}.yaml`,
  }));
}

function publishedAs(folder: string): (Published & { version: string; isNumbered: boolean }) | undefined {
  const [top = "", version = "", name, ...more] = folder.split("/");
  if (more.length > 0) return undefined;
  if (name === undefined) {
    const component = /^\d+\.\d+\.\d+$/.test(version) ? own(COMPONENTS, top) : undefined;
    return component && { ...component, version, isNumbered: true };
  }
  const table = own({ ingress: INGRESSES, "eventing-source": SOURCES }, top) ?? {};
  const extension = /^\d+\.\d+$/.test(version) ? own(table, name) : undefined;
  // These go by minor version, and which patches each has cannot be told from here; the first is the one to expect.
  return extension && { ...extension, version: `${version}.0`, isNumbered: false };
}

/** Paths come from whoever may write the object. */
function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

export function knownVersions(kind: KnativeKind): readonly string[] {
  return KNOWN[KnativeComponent[kind]];
}

export interface OfficialSourceOptions {
  /** Where pulled releases lie. */
  readonly dir: string;
  readonly fetcher: ManifestFetcher;
  /** In place of upstream's. */
  readonly address?: string;
}

export function officialSource({ dir, fetcher, address }: OfficialSourceOptions): ReleaseSource {
  const pulled = directorySource(dir);
  const known = new Map<string, readonly ManifestText[]>();

  /** What a URL gave at first is what it means from then on, so it is asked for once. */
  const published = async (path: string): Promise<readonly ManifestText[] | undefined> => {
    const files = officialFiles(path, address);
    if (!files) return undefined;
    const texts = known.get(path) ?? (await Promise.all(files.map((file) => fetched(fetcher, file, path))));
    known.set(path, texts);
    return texts;
  };

  return {
    root: dir,
    async folders(path) {
      return [...new Set([...(own(KNOWN, path) ?? []), ...(await pulled.folders(path))])];
    },
    async stamp(path) {
      const stamp = await pulled.stamp(path);
      if (stamp !== undefined) return stamp;
      return (await published(path)) && `official ${path}`;
    },
    async texts(path) {
      if ((await pulled.stamp(path)) !== undefined) return pulled.texts(path);
      return (await published(path)) ?? [];
    },
  };
}

async function fetched(fetcher: ManifestFetcher, { url }: OfficialFile, folder: string): Promise<ManifestText> {
  try {
    return await fetcher.pull(url);
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new Error(`${url}: ${cause}; where there is no network, give the hub a folder that has ${folder}`, {
      cause: error,
    });
  }
}

export interface PulledFile extends OfficialFile {
  readonly sha256: string;
  /** Whether it came over the network just now. */
  readonly isNew: boolean;
}

/** Puts folders of the official releases where a hub without a network can read them. Throws before a folder is half there. */
export async function pullOfficial(
  folders: readonly string[],
  { dir, fetcher, address, refresh = false }: OfficialSourceOptions & { readonly refresh?: boolean },
): Promise<readonly PulledFile[]> {
  const pulled: PulledFile[] = [];
  for (const folder of folders) {
    const files = officialFiles(folder, address);
    if (!files) throw new Error(`${folder} is not published by upstream`);
    const texts = await Promise.all(
      files.map(async (file) => {
        try {
          return { ...file, ...(await fetcher.pull(file.url, { refresh })) };
        } catch (error) {
          throw new Error(`${file.url}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        }
      }),
    );
    await replaceFolder(join(dir, folder), texts);
    pulled.push(...texts.map(({ path, url, sha256, isNew }) => ({ path, url, sha256, isNew })));
  }
  return pulled;
}

/** Whole, or not at all: a hub may be reading meanwhile, and half a release is none. */
async function replaceFolder(
  path: string,
  files: readonly { readonly path: string; readonly text: string }[],
): Promise<void> {
  const aside = join(dirname(path), `.pulling-${process.pid}`);
  await rm(aside, { recursive: true, force: true });
  await mkdir(aside, { recursive: true });
  try {
    for (const file of files) await writeFile(join(aside, file.path.slice(file.path.lastIndexOf("/") + 1)), file.text);
    await rm(path, { recursive: true, force: true });
    await rename(aside, path);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}
