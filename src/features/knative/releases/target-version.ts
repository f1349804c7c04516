/** Which version is meant, and whether one may go there from what is installed. */
import type { KnativeKind, KnativeSpec } from "#api/knative";
import { LATEST, minorOf, newestFirst, parseVersion, withV } from "./version.ts";

/**
 * The version that `spec` means, given the folders that there are. With manifests of its own a spec means what it says,
 * even nothing.
 */
export function targetVersion(
  { version = "", manifests = [] }: Pick<KnativeSpec, "version" | "manifests">,
  available: readonly string[],
): string {
  const sorted = newestFirst(available);
  const [newest = ""] = sorted;
  if (version.toLowerCase() === LATEST) return sorted.find((name) => name === version) ?? newest;
  if (manifests.length > 0) return version;
  if (version === "") return newest;
  if (!/^v?\d+\.\d+$/.test(version)) return version;
  return sorted.find((name) => name.startsWith(version) && minorOf(name) === minorOf(version)) ?? version;
}

/** Why one cannot go to the target from what is installed, in upstream's words; undefined if one can. */
export function migrationProblem({
  kind,
  target,
  installed = "",
}: {
  readonly kind: KnativeKind;
  readonly target: string;
  /** `status.version`; nothing is installed while it is empty. */
  readonly installed?: string | undefined;
}): string | undefined {
  if (target === LATEST) return undefined;
  const [to, name] = [parseVersion(target), withV(target)];
  if (!to) return `target version ${name} is not in a valid semantic versioning format`;
  if (!target.includes(".")) return `target version ${name} should at least include the major and minor numbers`;
  if (installed === "" || installed === LATEST) return undefined;

  const from = parseVersion(installed);
  if (!from || !installed.includes(".")) {
    return `minor number of the current version ${withV(installed)} should be an integer`;
  }
  const known = `The installed ${kind} version is ${withV(installed)}`;
  if (from.major !== to.major) {
    return isAcrossOne(installed, target)
      ? undefined
      : `not supported to upgrade or downgrade across the MAJOR version. ${known}`;
  }
  return Math.abs(from.minor - to.minor) < 2
    ? undefined
    : `not supported to upgrade or downgrade across multiple MINOR versions. ${known}`;
}

/** 0.26 and 1.0 are neighbours. */
function isAcrossOne(a: string, b: string): boolean {
  return [minorOf(a), minorOf(b)].sort().join() === "0.26,1.0";
}

/** The version to go to first when the target is too far away; undefined where there is no way among the releases. */
export function nextStep({
  target,
  installed,
  available,
}: {
  readonly target: string;
  readonly installed: string;
  readonly available: readonly string[];
}): string | undefined {
  const [to, from] = [parseVersion(target), parseVersion(installed)];
  if (!to || !from || to.major !== from.major || to.minor === from.minor) return undefined;
  const minor = from.minor + Math.sign(to.minor - from.minor);
  return newestFirst(available).find((name) => minorOf(name) === `${from.major}.${minor}`);
}
