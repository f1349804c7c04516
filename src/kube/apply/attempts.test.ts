import { describe, expect, it } from "vitest";
import type { Status } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { KubeError, statusError } from "../errors.ts";
import { mayPass, persist } from "./attempts.ts";
import { verdictOf } from "./refusals.ts";

function answer(code: number, reason = "", details: Status["details"] = {}, message = "said"): KubeError {
  return statusError({
    apiVersion: "v1",
    kind: "Status",
    metadata: {},
    status: "Failure",
    code,
    reason,
    message,
    details,
  });
}

const named = { name: "x" };
const claim = (manager: string, field: string) => ({
  reason: "FieldManagerConflict",
  message: `conflict with "${manager}" using v1 at 2026-01-01T00:00:00Z`,
  field,
});

describe("failures", () => {
  it.each([
    ["an unreachable server", new KubeError("unreachable", "connect ECONNREFUSED"), true, "waiting", "ServerNotReady"],
    ["a lost connection", new KubeError("lost", "reset"), true, "waiting", "ServerNotReady"],
    ["no answer in time", new KubeError("timeout", "no answer"), true, "waiting", "ServerNotReady"],
    ["too many requests", answer(429), true, "waiting", "ServerNotReady"],
    ["a webhook that is not up", answer(500, "InternalError"), true, "waiting", "ServerNotReady"],
    ["a write in between", answer(409, "Conflict", named), true, "waiting", "ServerNotReady"],
    ["an object that came in between", answer(409, "AlreadyExists", named), true, "waiting", "ServerNotReady"],
    ["a kind that is not served yet", answer(404, "NotFound"), true, "waiting", "UnknownKind"],
    [
      "a namespace that is going",
      answer(403, "Forbidden", { causes: [{ reason: "NamespaceTerminating" }] }),
      true,
      "waiting",
      "BeingDeleted",
    ],
    [
      "a namespace that is not there",
      answer(404, "NotFound", { name: "n", kind: "namespaces" }),
      false,
      "waiting",
      "NamespaceMissing",
    ],
    [
      "a field that others claim",
      answer(409, "Conflict", { causes: [claim("a", ".b")] }),
      false,
      "refused",
      "Conflict",
    ],
    ["an invalid object", answer(422, "Invalid", named), false, "refused", "Invalid"],
    ["a missing right", answer(403, "Forbidden", named), false, "refused", "Forbidden"],
    ["an unknown field", answer(400, "BadRequest"), false, "refused", "Refused"],
    ["an object that is too large", answer(413), false, "refused", "Refused"],
    ["being called off", new KubeError("aborted", "called off"), false, "held back", "NotAsked"],
  ])("%s", (_, error, passes, action, reason) => {
    expect(mayPass(error)).toBe(passes);
    expect(verdictOf(error)).toMatchObject({ action, reason });
  });

  it("name who claims which fields, in the same words every time", () => {
    const error = answer(409, "Conflict", {
      causes: [claim("kubectl", ".spec.replicas"), claim("helm", ".spec.b"), claim("helm", ".spec.a")],
    });
    expect(verdictOf(error)).toMatchObject({
      message: "helm claims .spec.a, .spec.b; kubectl claims .spec.replicas",
      conflicts: [
        { manager: "helm", field: ".spec.a" },
        { manager: "helm", field: ".spec.b" },
        { manager: "kubectl", field: ".spec.replicas" },
      ],
    });
  });

  it("of the engine itself are not hidden", () => {
    expect(() => verdictOf(new TypeError("x"))).toThrow(TypeError);
  });
});

describe("persistence", () => {
  /** Runs with a clock that jumps whenever it is waited for. */
  function patience(ms: number) {
    const clock = new ManualClock();
    const pauses: number[] = [];
    const jumping = {
      now: () => clock.now(),
      after: (pause: number, task: () => void) => {
        pauses.push(pause);
        queueMicrotask(() => clock.advance(pause));
        return clock.after(pause, task);
      },
    };
    return { pauses, clock: jumping, until: clock.now().getTime() + ms, signal: undefined };
  }

  it("tries again, later and later, for as long as there is time", async () => {
    const patient = patience(20_000);
    await expect(persist(patient, async () => Promise.reject(answer(503)))).rejects.toThrow("503");
    expect(patient.pauses).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  });

  it("succeeds as soon as the work does", async () => {
    let tries = 0;
    const work = async () => {
      if (++tries < 3) throw answer(500);
      return "done";
    };
    expect(await persist(patience(20_000), work)).toBe("done");
  });

  it("does not wait after a write in between, because only a new look helps", async () => {
    const patient = patience(0);
    let tries = 0;
    const work = async () => {
      if (++tries < 4) throw answer(409, "Conflict", named);
      return "done";
    };
    expect(await persist(patient, work)).toBe("done");
    expect(patient.pauses).toEqual([]);
  });

  it.each([
    ["what cannot succeed", answer(422, "Invalid", named), 60_000],
    ["what may succeed, without patience", answer(503), 0],
  ])("tries %s once", async (_, error, ms) => {
    let tries = 0;
    const work = async () => {
      tries++;
      throw error;
    };
    await expect(persist(patience(ms), work)).rejects.toBe(error);
    expect(tries).toBe(1);
  });
});
