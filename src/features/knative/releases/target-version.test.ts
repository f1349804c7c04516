import { describe, expect, it } from "vitest";
import { migrationProblem, nextStep } from "./index.ts";
import { targetVersion } from "./target-version.ts";
import { minorOf, newestFirst, parseVersion } from "./version.ts";

const SERVING = ["0.24.0", "0.25.0", "0.26.0", "0.26.1", "1.0.0", "latest"];
const OWN = [{ URL: "https://example.com/a.yaml" }];

describe("[spec.version] chooses the release, and means", () => {
  it.each<[string | undefined, string, string]>([
    ["0.26", "0.26.1", "the newest of that minor version"],
    ["0.25", "0.25.0", "the only one of it"],
    [undefined, "1.0.0", "the newest, when nothing is said"],
    ["", "1.0.0", "the newest, when nothing is said"],
    ["latest", "latest", "the folder of that name"],
    ["LATEST", "1.0.0", "the newest, because no folder has exactly that name"],
    ["0.22", "0.22", "itself, because there is none of that minor version"],
    ["1.9.0", "1.9.0", "itself, though it is not there"],
    ["0.22.1", "0.22.1", "itself, though it is not there"],
    ["v0.26", "v0.26", "itself, because folders have no v"],
    ["badVersion", "badVersion", "itself, and is found out later"],
  ])("%s: %s, %s", (version, meant) => {
    expect(targetVersion({ ...(version !== undefined && { version }) }, SERVING)).toBe(meant);
  });

  it("the newest where latest has no folder", () => {
    expect(targetVersion({ version: "latest" }, ["0.26.0", "0.26.1"])).toBe("0.26.1");
  });

  it.each(["0.26", "", "1.0.0"])("just what it says (%j) with manifests of its own", (version) => {
    expect(targetVersion({ version, manifests: OWN }, SERVING)).toBe(version);
  });

  it("0.2 does not mean 0.26", () => {
    expect(targetVersion({ version: "0.2" }, SERVING)).toBe("0.2");
  });
});

describe("versions", () => {
  it("are sorted newest first, and what is none comes last", () => {
    expect(newestFirst(SERVING)).toEqual(["1.0.0", "0.26.1", "0.26.0", "0.25.0", "0.24.0", "latest"]);
    const order = ["1.10.0", "1.9.1", "1.9.0", "1.9.0-rc.11", "1.9.0-rc.2", "1.9.0-rc", "1.9.0-1", "nightly", "x"];
    expect(newestFirst([...order].reverse())).toEqual(order);
  });

  it.each([
    ["1.23.0", "1.23"],
    ["v1.23", "1.23"],
    ["1.23.0-rc.1+build.5", "1.23"],
    ["1", "1.0"],
    ["devel", undefined],
    ["01.2.3", undefined],
    ["1.2.3-01", undefined],
    ["1.2-rc", undefined],
    ["1.2.3.4", undefined],
    ["", undefined],
  ])("%s has the minor version %s", (text, minor) => {
    expect(minorOf(text)).toBe(minor);
  });

  it("are read with all their parts", () => {
    expect(parseVersion("v1.23.4-rc.1")).toEqual({ major: 1, minor: 23, patch: 4, prerelease: "rc.1" });
  });
});

const MAJOR =
  "not supported to upgrade or downgrade across the MAJOR version. The installed KnativeServing version is ";
const MINOR =
  "not supported to upgrade or downgrade across multiple MINOR versions. The installed KnativeServing version is ";

describe("[status.version] decides where one may go:", () => {
  it.each<[string, string | undefined, string | undefined, string]>([
    ["0.24.2", undefined, undefined, "nothing is installed"],
    ["0.24.2", "0.23.0", undefined, "one minor version up"],
    ["1.0.0", "0.26.0", undefined, "0.26 and 1.0 are neighbours"],
    ["1.0.0", "0.25.0", `${MAJOR}v0.25.0`, "0.25 and 1.0 are not"],
    ["0.26.0", "1.0.0", undefined, "and back"],
    ["0.25.0", "1.0.0", `${MAJOR}v1.0.0`, "and not further back"],
    ["0.25.0", "0.23.0", `${MINOR}v0.23.0`, "two minor versions up"],
    ["0.23.0", "0.25.0", `${MINOR}v0.25.0`, "two minor versions down"],
    ["latest", "0.26.0", undefined, "to latest"],
    ["0.26.0", "latest", undefined, "from latest"],
    ["latest", undefined, undefined, "latest at first"],
    ["1.0.0", "0.13.0", `${MAJOR}v0.13.0`, "the newest is too far"],
    ["1.0.0", "1.0.0", undefined, "where one is"],
    ["1.0.0", "", undefined, "nothing is installed yet"],
    ["0.25.0", "0.25.0", undefined, "the same version"],
    ["0.25", undefined, undefined, "a minor version that is not there, which is found out later"],
    ["badVersion", undefined, "target version vbadVersion is not in a valid semantic versioning format", "no version"],
    ["1", undefined, "target version v1 should at least include the major and minor numbers", "too short"],
    ["", undefined, "target version v is not in a valid semantic versioning format", "manifests without a version"],
    [
      "1.0.0",
      "odd",
      "minor number of the current version vodd should be an integer",
      "what is installed is no version",
    ],
  ])("to %j from %j: %j, because %s", (target, installed, problem) => {
    expect(migrationProblem({ kind: "KnativeServing", target, installed })).toBe(problem);
  });

  it("an Eventing is called an Eventing", () => {
    const problem = migrationProblem({ kind: "KnativeEventing", target: "1.23.0", installed: "1.20.0" });
    expect(problem).toContain("The installed KnativeEventing version is v1.20.0");
  });
});

describe("the way to a version that is too far away", () => {
  const available = ["1.20.3", "1.21.0", "1.21.4", "1.22.1", "1.23.0"];
  it.each<[string, string, string | undefined, string]>([
    ["1.20.3", "1.23.0", "1.21.4", "the newest patch of the next minor version"],
    ["1.23.0", "1.20.3", "1.22.1", "down likewise"],
    ["1.18.0", "1.23.0", undefined, "no release lies on the way"],
    ["0.26.0", "1.23.0", undefined, "another major version"],
    ["1.23.0", "1.23.0", undefined, "nothing to do"],
  ])("from %s to %s is %s: %s", (installed, target, step) => {
    expect(nextStep({ target, installed, available })).toBe(step);
  });
});
