/**
 * Versions as Go's module tools read them, because upstream does: `1.23` is a version, short for `1.23.0`, and what
 * cannot be read is older than everything that can.
 */

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** `rc.1` of `1.23.0-rc.1`; empty for a release. */
  readonly prerelease: string;
}

/** The version that stands for whatever was built last. */
export const LATEST = "latest";

const NUMBER = "(0|[1-9][0-9]*)";
const WORD = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const VERSION = new RegExp(`^v?${NUMBER}(?:\\.${NUMBER}(?:\\.${NUMBER}(?:-(${WORD}))?(?:\\+${WORD})?)?)?$`);

/** With or without a leading `v`; minor and patch may be missing, and are then 0. */
export function parseVersion(text: string): Version | undefined {
  const [found, major, minor, patch, prerelease = ""] = VERSION.exec(text) ?? [];
  if (found === undefined || prerelease.split(".").some((part) => /^0\d+$/.test(part))) return undefined;
  return { major: Number(major), minor: Number(minor ?? 0), patch: Number(patch ?? 0), prerelease };
}

/** `1.23` of `1.23.0`: the folder of what goes with it. */
export function minorOf(text: string): string | undefined {
  const version = parseVersion(text);
  return version && `${version.major}.${version.minor}`;
}

/** With the `v` that upstream puts before versions in messages. */
export function withV(text: string): string {
  return text.startsWith("v") ? text : `v${text}`;
}

/** Newest first; what is no version comes last, by name. */
export function newestFirst(names: readonly string[]): string[] {
  return [...names].sort((a, b) => compare(parseVersion(b), parseVersion(a)) || (a < b ? -1 : 1));
}

function compare(a: Version | undefined, b: Version | undefined): number {
  if (!a || !b) return (a ? 1 : 0) - (b ? 1 : 0);
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch || comparePrereleases(a.prerelease, b.prerelease);
}

/** A release is newer than what led to it; numbers count as numbers, and less than words. */
function comparePrereleases(a: string, b: string): number {
  if (a === b) return 0;
  if (a === "" || b === "") return a === "" ? 1 : -1;
  const [left, right] = [a.split("."), b.split(".")];
  for (const [index, part] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (part === other) continue;
    const [number, otherNumber] = [/^\d+$/.test(part), /^\d+$/.test(other)];
    if (number !== otherNumber) return number ? -1 : 1;
    if (number && Number(part) !== Number(other)) return Number(part) - Number(other);
    return part < other ? -1 : 1;
  }
  return -1;
}
