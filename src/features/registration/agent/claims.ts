/** What the spoke tells about itself, as the hub shows it. */
import type { ClusterProperty } from "#api/about";
import { type ClusterClaim, ClusterLabel, ReservedClaims } from "#api/cluster";

/** The hub refuses longer values, and with them the whole report. */
const LONGEST_VALUE = 1024;
const MOST_CUSTOM_CLAIMS = 20;
const reserved = new Set<string>(ReservedClaims);

/** How much is told. */
export interface ClaimLimits {
  /** So many names that are not reserved are told at most; 20 unless told. */
  readonly most?: number;
  /** Names that end so are reserved too. */
  readonly reservedSuffixes?: readonly string[];
}

export interface ToldClaims {
  /** First the reserved names, then the others as far as there is room, both in order. */
  readonly claims: readonly { name: string; value: string }[];
  /** Those for which there was no room. */
  readonly left: readonly string[];
}

/** Properties and claims in one list, a property before a claim of the same name. */
export function toldClaims(
  properties: readonly ClusterProperty[],
  claims: readonly ClusterClaim[],
  { most = MOST_CUSTOM_CLAIMS, reservedSuffixes = [] }: ClaimLimits = {},
): ToldClaims {
  const values = new Map<string, string>();
  for (const { metadata, spec } of [...claims, ...properties]) {
    if (Object.hasOwn(metadata.labels ?? {}, ClusterLabel.spokeOnly)) continue;
    const { value } = spec ?? {};
    if (value && [...value].length <= LONGEST_VALUE) values.set(metadata.name, value);
  }
  const isReserved = (name: string) => reserved.has(name) || reservedSuffixes.some((suffix) => name.endsWith(suffix));
  const all = [...values].map(([name, value]) => ({ name, value })).sort((a, b) => (a.name < b.name ? -1 : 1));
  const custom = all.filter(({ name }) => !isReserved(name));
  return {
    claims: [...all.filter(({ name }) => isReserved(name)), ...custom.slice(0, most)],
    left: custom.slice(most).map(({ name }) => name),
  };
}
