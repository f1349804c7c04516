import { describe, expect, it } from "vitest";
import { TargetReason } from "#api/knative";
import { timestamp } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import {
  type Conditions,
  deploymentsAvailable,
  deploymentsNotReady,
  initialized,
  installFailed,
  installSucceeded,
  targetNotResolved,
  targetResolved,
  versionEligible,
  versionNotEligible,
} from "./index.ts";

const START = new Date("2026-01-01T00:00:00Z");
const at = (seconds: number) => new Date(START.getTime() + seconds * 1000);
const fresh = () => initialized(undefined, START);

/** Applied one after the other, a second apart. */
function having(...steps: ((conditions: Conditions, now: Date) => Conditions)[]): Conditions {
  return steps.reduce((conditions, step, index) => step(conditions, at(index + 1)), fresh());
}
const statuses = (conditions: Conditions) => Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
const ready = (conditions: Conditions) => findCondition(conditions, "Ready");
const lost = (conditions: Conditions, now: Date) =>
  targetNotResolved(conditions, { reason: TargetReason.profileNotFound, message: "no such profile" }, now);
const complete = [versionEligible, targetResolved, deploymentsAvailable, installSucceeded];

describe("at first", () => {
  it("[status.conditions] nothing is known, sorted by type and without severity", () => {
    expect(fresh()).toEqual(
      [
        "DependenciesInstalled",
        "DeploymentsAvailable",
        "InstallSucceeded",
        "Ready",
        "TargetClusterResolved",
        "VersionMigrationEligible",
      ].map((type) => ({ type, status: "Unknown", lastTransitionTime: timestamp(START) })),
    );
  });

  it("nothing that is there is reset, nor copied when nothing is missing", () => {
    const known = having(lost);
    expect(initialized(known, at(9))).toBe(known);
  });

  it("what a new version of us adds is True where all was well, because it was", () => {
    const old: Conditions = [{ type: "Ready", status: "True", lastTransitionTime: timestamp(START) }];
    expect(new Set(Object.values(statuses(initialized(old, at(1)))))).toEqual(new Set(["True"]));
  });
});

describe("a whole installation", () => {
  it("is ready when everything is, and repeats nothing", () => {
    const conditions = having(...complete);
    expect(new Set(Object.values(statuses(conditions)))).toEqual(new Set(["True"]));
    expect(ready(conditions)).toEqual({ type: "Ready", status: "True", lastTransitionTime: timestamp(at(4)) });
    expect(versionEligible(conditions, at(99))).toBe(conditions);
  });

  it("does not know of its success while Deployments start", () => {
    const conditions = having(versionEligible, targetResolved, (all, now) =>
      deploymentsNotReady(all, ["webhook", "activator"], now),
    );
    expect(statuses(conditions)).toMatchObject({
      InstallSucceeded: "Unknown",
      DependenciesInstalled: "Unknown",
      DeploymentsAvailable: "False",
      Ready: "False",
    });
    expect(ready(conditions)).toMatchObject({
      reason: "NotReady",
      message: "Waiting on deployments: activator, webhook",
    });
  });

  it("keeps its success during an upgrade", () => {
    const upgrading = having(...complete, (all, now) => deploymentsNotReady(all, ["controller"], now));
    expect(statuses(upgrading)).toMatchObject({ InstallSucceeded: "True", Ready: "False" });
  });

  it("leaves dependencies alone that somebody has spoken of", () => {
    const missing: Conditions = fresh().map((condition) =>
      condition.type === "DependenciesInstalled" ? { ...condition, status: "False", reason: "Error" } : condition,
    );
    const conditions = installSucceeded(
      deploymentsAvailable(versionEligible(targetResolved(missing, at(1)), at(1)), at(1)),
      at(2),
    );
    expect(statuses(conditions)).toMatchObject({ DependenciesInstalled: "False", Ready: "False" });
  });
});

describe("failures", () => {
  it.each([
    [
      (all: Conditions) => versionNotEligible(all, "too far", at(1)),
      "VersionMigrationEligible",
      "Error",
      "Version migration is not eligible with message: too far",
    ],
    [
      (all: Conditions) => installFailed(all, "no manifests", at(1)),
      "InstallSucceeded",
      "Error",
      "Install failed with message: no manifests",
    ],
    [(all: Conditions) => lost(all, at(1)), "TargetClusterResolved", "ClusterProfileNotFound", "no such profile"],
  ])("%#: are repeated by Ready in the same words", (fail, type, reason, message) => {
    const conditions = fail(fresh());
    const said = { status: "False", reason, message, lastTransitionTime: timestamp(at(1)) };
    expect(findCondition(conditions, type)).toEqual({ type, ...said });
    expect(ready(conditions)).toEqual({ type: "Ready", ...said });
  });

  it("keep what was installed when the cluster is lost, however often", () => {
    let conditions = having(...complete);
    for (const seconds of [10, 20, 30]) {
      conditions = lost(conditions, at(seconds));
      expect(statuses(conditions)).toMatchObject({ InstallSucceeded: "True", Ready: "False" });
      conditions = targetResolved(conditions, at(seconds + 5));
      expect(statuses(conditions)).toMatchObject({ InstallSucceeded: "True", Ready: "True" });
    }
  });

  it("before anything was installed leave the success unknown", () => {
    expect(statuses(having(versionEligible, lost))).toMatchObject({ InstallSucceeded: "Unknown", Ready: "False" });
  });

  it("show in Ready the newest first, and doubts after them", () => {
    const failed = having(
      (all, now) => installFailed(all, "first", now),
      (all, now) => deploymentsNotReady(all, ["webhook"], now),
      versionEligible,
    );
    expect(ready(failed)?.message).toBe("Waiting on deployments: webhook");
    const one = deploymentsAvailable(failed, at(10));
    expect(ready(one)?.message).toBe("Install failed with message: first");
    const none = installSucceeded(one, at(11));
    expect(ready(none)).toMatchObject({ status: "Unknown" });
    expect(ready(targetResolved(none, at(12)))?.status).toBe("True");
  });

  it("move the time when only the words change", () => {
    const first = having((all, now) => installFailed(all, "one", now));
    const second = installFailed(first, "two", at(60));
    expect(findCondition(second, "InstallSucceeded")?.lastTransitionTime).toBe(timestamp(at(60)));
    expect(installFailed(second, "two", at(90))).toBe(second);
  });

  it("keep a percent sign", () => {
    const message = "100%d of https://x/%2F";
    const conditions = targetNotResolved(fresh(), { reason: TargetReason.accessFailed, message }, at(1));
    expect(ready(conditions)?.message).toBe(message);
  });

  it("leave conditions of others alone", () => {
    const foreign = { type: "Foreign", status: "False" as const, lastTransitionTime: timestamp(at(50)) };
    const conditions = having(...complete);
    const next = versionEligible(versionNotEligible([...conditions, foreign], "x", at(51)), at(52));
    expect(ready(next)?.status).toBe("True");
    expect(next).toContainEqual(foreign);
  });
});
