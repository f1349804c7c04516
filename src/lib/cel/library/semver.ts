/** Semantic versions. */
import { failure } from "../errors.ts";
import { declare, type FunctionDeclaration, overload } from "../functions.ts";
import { Opaque } from "../values.ts";

export const SEMVER_TYPE = "kubernetes.Semver";

class Version extends Opaque {
  readonly typeName = SEMVER_TYPE;
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly prerelease: readonly string[];

  constructor(numbers: readonly [bigint, bigint, bigint], prerelease: readonly string[]) {
    super();
    this.numbers = numbers;
    this.prerelease = prerelease;
  }

  equals(other: Opaque): boolean {
    return other instanceof Version && compareVersions(this, other) === 0;
  }
}

const SYNTAX =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

function readVersion(text: string, normalizes = false): Version | undefined {
  const found = SYNTAX.exec(normalizes ? normalized(text) : text);
  if (!found) return undefined;
  const [, major = "", minor = "", patch = "", prerelease] = found;
  return new Version([BigInt(major), BigInt(minor), BigInt(patch)], prerelease?.split(".") ?? []);
}

/** `v1.02` is 1.2.0: a leading v goes, what is missing is 0, and so are zeros that lead. */
function normalized(text: string): string {
  const [, core = "", rest = ""] = /^v?([^+-]*)(.*)$/s.exec(text.trim()) ?? [];
  const parts = core.split(".").map((part) => part.replace(/^0+(?=\d)/, ""));
  while (parts.length < 3 && rest === "") parts.push("0");
  return parts.join(".") + rest;
}

function compareVersions(left: Version, right: Version): number {
  for (const [index, number] of left.numbers.entries()) {
    const other = right.numbers[index] ?? 0n;
    if (number !== other) return number < other ? -1 : 1;
  }
  return comparePrereleases(left.prerelease, right.prerelease);
}

/** A version without one comes after those with one. */
function comparePrereleases(left: readonly string[], right: readonly string[]): number {
  if (left.length === 0 || right.length === 0) return Math.sign(right.length - left.length);
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const [a, b] = [left[index] ?? "", right[index] ?? ""];
    if (a === b) continue;
    const [isNumber, otherIsNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
    if (isNumber && otherIsNumber) return BigInt(a) < BigInt(b) ? -1 : 1;
    if (isNumber !== otherIsNumber) return isNumber ? -1 : 1;
    return a < b ? -1 : 1;
  }
  return Math.sign(left.length - right.length);
}

function versionOf(text: string, normalizes = false): Version {
  const version = readVersion(text, normalizes);
  if (!version)
    throw failure(
      `semver parse error during conversion from string: ${JSON.stringify(text)} is not a semantic version`,
    );
  return version;
}

const number = (name: string, index: 0 | 1 | 2): FunctionDeclaration =>
  declare(
    name,
    overload(`semver_${name}`, `${SEMVER_TYPE}.() -> int`, ({ numbers }: Version) => numbers[index]),
  );

const pair = (
  name: string,
  result: string,
  call: (left: Version, right: Version) => bigint | boolean,
): FunctionDeclaration =>
  declare(name, overload(`semver_${name}`, `${SEMVER_TYPE}.(${SEMVER_TYPE}) -> ${result}`, call));

export const semverLibrary: readonly FunctionDeclaration[] = [
  declare(
    "semver",
    overload("string_to_semver", `(string) -> ${SEMVER_TYPE}`, (text: string) => versionOf(text)),
    overload("string_bool_to_semver", `(string, bool) -> ${SEMVER_TYPE}`, (text: string, normalizes: boolean) =>
      versionOf(text, normalizes),
    ),
  ),
  declare(
    "isSemver",
    overload("is_semver_string", "(string) -> bool", (text: string) => readVersion(text) !== undefined),
    overload(
      "is_semver_string_bool",
      "(string, bool) -> bool",
      (text: string, normalizes: boolean) => readVersion(text, normalizes) !== undefined,
    ),
  ),
  number("major", 0),
  number("minor", 1),
  number("patch", 2),
  pair("isGreaterThan", "bool", (left, right) => compareVersions(left, right) > 0),
  pair("isLessThan", "bool", (left, right) => compareVersions(left, right) < 0),
  pair("compareTo", "int", (left, right) => BigInt(compareVersions(left, right))),
];
