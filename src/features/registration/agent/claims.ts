/** What the spoke tells about itself, as the hub shows it. */
import type { ClusterProperty } from "#api/about";
import { type ClusterClaim, ClusterLabel, ReservedClaims } from "#api/cluster";

/** The hub refuses longer values, and with them the whole report. */
const LONGEST_VALUE = 1024;
const MOST_CUSTOM_CLAIMS = 20;
const reserved = new Set<string>(ReservedClaims);

/**
 * Properties and claims in one list, a property before a claim of the same name: first the reserved names, then
 * the others as far as there is room, both in order.
 */
export function reportedClaims(
  properties: readonly ClusterProperty[],
  claims: readonly ClusterClaim[],
  most = MOST_CUSTOM_CLAIMS,
): { name: string; value: string }[] {
  const values = new Map<string, string>();
  for (const { metadata, spec } of [...claims, ...properties]) {
    if (Object.hasOwn(metadata.labels ?? {}, ClusterLabel.spokeOnly)) continue;
    const { value } = spec ?? {};
    if (value && [...value].length <= LONGEST_VALUE) values.set(metadata.name, value);
  }
  const all = [...values].map(([name, value]) => ({ name, value })).sort((a, b) => (a.name < b.name ? -1 : 1));
  const custom = all.filter(({ name }) => !reserved.has(name));
  return [...all.filter(({ name }) => reserved.has(name)), ...custom.slice(0, most)];
}
