/** Which files a volume has, from what its sources hold. */
import type { DownwardItem, KeyToPath, Pod, Volume, VolumeProjection } from "#api/core";
import type { FileContent, Files } from "./atomic-folder.ts";
import { fieldOf } from "./fields.ts";
import { Unfulfilled } from "./variables.ts";

/** What sources hold: bytes by key, undefined where there is no such object; and tokens by the projection that wants them. */
export interface Sources {
  configMap(name: string): ReadonlyMap<string, Buffer> | undefined;
  secret(name: string): ReadonlyMap<string, Buffer> | undefined;
  token(projection: TokenProjection): string;
}

export type TokenProjection = NonNullable<VolumeProjection["serviceAccountToken"]>;

const DEFAULT_MODE = 0o644;
/** As kubelets have it: a token is for the one who runs the program. */
const TOKEN_MODE = 0o600;

/** What a volume is put together from. */
export interface Ingredients {
  readonly projections: readonly VolumeProjection[];
  readonly mode: number;
}

/** Undefined for volumes that are not made of files that somebody else has. */
export function ingredientsOf({ secret, configMap, downwardAPI, projected }: Volume): Ingredients | undefined {
  if (projected) return { projections: projected.sources ?? [], mode: projected.defaultMode ?? DEFAULT_MODE };
  if (secret) {
    const { secretName = "", defaultMode = DEFAULT_MODE, ...rest } = secret;
    return { projections: [{ secret: { name: secretName, ...rest } }], mode: defaultMode };
  }
  if (configMap) {
    const { defaultMode = DEFAULT_MODE, ...rest } = configMap;
    return { projections: [{ configMap: rest }], mode: defaultMode };
  }
  if (downwardAPI) {
    const { defaultMode = DEFAULT_MODE, ...rest } = downwardAPI;
    return { projections: [{ downwardAPI: rest }], mode: defaultMode };
  }
  return undefined;
}

/** Throws Unfulfilled when something is not there that has to be. */
export function filesOf(pod: Pod, { projections, mode }: Ingredients, sources: Sources): Files {
  return new Map(projections.flatMap((projection) => filesOfOne(pod, projection, mode, sources)));
}

type Entry = readonly [path: string, content: FileContent];

function filesOfOne(pod: Pod, projection: VolumeProjection, mode: number, sources: Sources): Entry[] {
  const { secret, configMap, downwardAPI, serviceAccountToken } = projection;
  if (secret) {
    const { name = "", items, optional = false } = secret;
    const missing = { object: `secret "${name}" not found`, key: "references non-existent secret key" };
    return chosen(sources.secret(name), { items, optional, mode, missing });
  }
  if (configMap) {
    const { name = "", items, optional = false } = configMap;
    const missing = { object: `configmap "${name}" not found`, key: "configmap references non-existent config key" };
    return chosen(sources.configMap(name), { items, optional, mode, missing });
  }
  if (downwardAPI) return (downwardAPI.items ?? []).map((item) => downward(pod, item, mode));
  if (serviceAccountToken) {
    const bytes = Buffer.from(sources.token(serviceAccountToken));
    return [[serviceAccountToken.path, { bytes, mode: TOKEN_MODE }]];
  }
  throw new Unfulfilled(`a source of kind ${Object.keys(projection).join(", ")} is not offered by this node`);
}

function chosen(
  contents: ReadonlyMap<string, Buffer> | undefined,
  options: {
    items: readonly KeyToPath[] | undefined;
    optional: boolean;
    mode: number;
    missing: { object: string; key: string };
  },
): Entry[] {
  const { items, optional, mode, missing } = options;
  if (!contents) {
    if (optional) return [];
    throw new Unfulfilled(missing.object);
  }
  if (!items) return [...contents].map(([key, bytes]): Entry => [key, { bytes, mode }]);
  return items.flatMap(({ key, path, mode: own = mode }): Entry[] => {
    const bytes = contents.get(key);
    if (bytes) return [[path, { bytes, mode: own }]];
    if (optional) return [];
    throw new Unfulfilled(`${missing.key}: ${key}`);
  });
}

function downward(pod: Pod, { path, fieldRef, mode: own }: DownwardItem, mode: number): Entry {
  const value = fieldRef && fieldOf(pod, fieldRef.fieldPath);
  if (value === undefined) {
    const what = fieldRef?.fieldPath ?? "resourceFieldRef";
    throw new Unfulfilled(`the file ${path} comes from ${what}, which this node does not offer`);
  }
  return [path, { bytes: Buffer.from(value), mode: own ?? mode }];
}

/** Whether a reader would see the same. */
export function areSame(one: Files, other: Files): boolean {
  if (one.size !== other.size) return false;
  return [...one].every(([path, { bytes, mode }]) => {
    const same = other.get(path);
    return same !== undefined && same.mode === mode && same.bytes.equals(bytes);
  });
}
