import { describe, expect, it } from "vitest";
import { EXEC_V1, EXEC_V1BETA1, execConfigOf } from "./config.ts";

const least = { apiVersion: EXEC_V1, command: "aws", interactiveMode: "Never" };

describe("an exec section", () => {
  it("may say little", () => {
    expect(execConfigOf({ ...least, args: null, env: null }, "user u")).toEqual({
      ...least,
      args: [],
      env: [],
      provideClusterInfo: false,
    });
  });

  it("may say everything, and more than we know", () => {
    const full = {
      ...least,
      args: ["eks", "get-token"],
      env: [{ name: "AWS_PROFILE", value: "prod" }, { name: "EMPTY" }],
      installHint: "install it",
      provideClusterInfo: true,
      interactiveMode: "IfAvailable",
      somethingNew: 1,
    };
    expect(execConfigOf(full, "user u")).toMatchObject({
      args: ["eks", "get-token"],
      env: [
        { name: "AWS_PROFILE", value: "prod" },
        { name: "EMPTY", value: "" },
      ],
      installHint: "install it",
      provideClusterInfo: true,
      interactiveMode: "IfAvailable",
    });
  });

  it("of the older version asks people where it can", () => {
    expect(execConfigOf({ apiVersion: EXEC_V1BETA1, command: "aws" }, "user u").interactiveMode).toBe("IfAvailable");
  });

  it.each([
    ["no object", [], "user u: exec must be an object"],
    ["no version", { ...least, apiVersion: undefined }, 'user u: exec plugin: invalid apiVersion ""'],
    [
      "a version that is gone",
      { ...least, apiVersion: "client.authentication.k8s.io/v1alpha1" },
      'user u: exec plugin: invalid apiVersion "client.authentication.k8s.io/v1alpha1"',
    ],
    ["no command", { ...least, command: "" }, "user u: exec.command must be specified to use an exec plugin"],
    ["arguments that are none", { ...least, args: [1] }, "user u: exec.args must be a list of strings"],
    [
      "a variable without a name",
      { ...least, env: [{ value: "x" }] },
      "user u: exec.env must be a list of entries with name and value",
    ],
    ["an empty name", { ...least, env: [{ name: "", value: "x" }] }, "user u: exec.env has an entry without a name"],
    [
      "an unknown mode",
      { ...least, interactiveMode: "Maybe" },
      "user u: exec.interactiveMode must be Never, IfAvailable or Always",
    ],
    [
      "no mode in the newer version",
      { ...least, interactiveMode: "" },
      `user u: exec.interactiveMode must be specified with ${EXEC_V1}: Never, IfAvailable or Always`,
    ],
  ])("with %s is refused", (_, section, message) => {
    expect(() => execConfigOf(section, "user u")).toThrow(message);
  });
});
