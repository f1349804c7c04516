import { describe, expect, it } from "vitest";
import { type Asked, InvalidAnswer, reviewVersion, verdictOf } from "./admission-review.ts";
import { CallFailure } from "./client.ts";

const UID = "uid-1";
const MUTATING: Asked = { version: "v1", uid: UID, isMutating: true };
const VALIDATING: Asked = { ...MUTATING, isMutating: false };
const OLD: Asked = { ...MUTATING, version: "v1beta1" };
const answer = (response?: object, more: object = {}) => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  ...(response && { response: { uid: UID, allowed: true, ...response } }),
  ...more,
});
const PATCH = Buffer.from("[]").toString("base64");

describe("the answer of a webhook", () => {
  it("is asked for in the first version that both sides know", () => {
    expect(reviewVersion(["v9", "v1beta1", "v1"])).toBe("v1beta1");
    expect(reviewVersion(["v9"])).toBeUndefined();
  });

  it("says whether, why not, and what else", () => {
    const response = { allowed: false, status: { code: 403 }, warnings: ["w"], auditAnnotations: { a: "b" } };
    expect(verdictOf(VALIDATING, answer(response))).toEqual({
      allowed: false,
      status: { code: 403 },
      warnings: ["w"],
      auditAnnotations: { a: "b" },
    });
    expect(verdictOf(MUTATING, answer({ patch: PATCH, patchType: "JSONPatch" })).patch).toEqual({
      text: "[]",
      type: "JSONPatch",
    });
  });

  it("may leave out its name, its uid and the type of its patch in the old version", () => {
    expect(verdictOf(OLD, { response: { allowed: true, patch: PATCH } })).toMatchObject({
      allowed: true,
      patch: { text: "[]", type: "JSONPatch" },
    });
  });

  it.each<[string, Asked, unknown, string]>([
    ["without a response", MUTATING, answer(), "webhook response was absent"],
    ["to another question", MUTATING, answer({ uid: "x" }), 'expected response.uid="uid-1", got "x"'],
    [
      "without a name",
      MUTATING,
      { response: { uid: UID, allowed: true } },
      "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
    ],
    [
      "with a patch of no type",
      MUTATING,
      answer({ patch: PATCH }),
      "webhook returned response.patch but not response.patchType",
    ],
    [
      "with a type of no patch",
      MUTATING,
      answer({ patchType: "JSONPatch" }),
      "webhook returned response.patchType but not response.patch",
    ],
    [
      "with a patch from one who may only refuse",
      VALIDATING,
      answer({ patch: PATCH, patchType: "JSONPatch" }),
      "validating webhook may not return response.patch",
    ],
  ])("is invalid %s", (_, asked, given, message) => {
    expect(() => verdictOf(asked, given)).toThrow(new InvalidAnswer(message));
  });

  it.each<[string, unknown]>([
    ["that is a list", []],
    ["that is nothing", null],
    ["of another kind", answer({}, { kind: "Pod" })],
    ["of another version", answer({}, { apiVersion: "admission.k8s.io/v1beta1" })],
    ["that allows with a word", answer({ allowed: "yes" })],
    ["with warnings that are numbers", answer({ warnings: [1] })],
    ["with annotations that are numbers", answer({ auditAnnotations: { a: 1 } })],
    ["with a status that is a text", answer({ status: "no" })],
    ["with a patch that is not base64", answer({ patch: "%%%", patchType: "JSONPatch" })],
    ["with a response that is a text", answer(undefined, { response: "yes" })],
  ])("is none %s", (_, given) => {
    let caught: unknown;
    try {
      verdictOf(MUTATING, given);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(CallFailure);
    expect(caught).not.toBeInstanceOf(InvalidAnswer);
  });
});
