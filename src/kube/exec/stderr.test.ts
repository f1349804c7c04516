import { describe, expect, it } from "vitest";
import { repeatable } from "./stderr.ts";

const told = JSON.stringify(["https://spoke:6443", { clusterName: "spoke-1", secretNamespace: "fleet" }, "my-plugin"]);

describe("what a plugin says", () => {
  it.each([
    [
      "a complaint of upstream's plugins",
      '[secretreader] failed to get secret fleet/spoke-1: secrets "spoke-1" not found',
      '[secretreader] failed to get secret fleet/spoke-1: secrets "spoke-1" not found',
    ],
    ["numbers of errors", "error: code=403, exit 1", "error: code=403, exit 1"],
    ["a password after its name", "password: hunter2", "password: …"],
    ["a password that is a word", "opensesame", ""],
    ["a token in a header", "Authorization: Bearer eyJhbGciOi.eyJzdWIi.c2ln", "Authorization: …"],
    ["a password in a URL", "cannot connect to https://me:hush@proxy:3128", "cannot connect to …"],
    ["a password of signs alone", "password %$#@!&*~^", "password …"],
    ["a long number", "the key is 123456789", "the key is …"],
    ["several hidden words in a row", "login as admin with hush now failed", "login as … with … failed"],
    ["only its first line", "\n\nfailed\nhush", "failed"],
    ["nothing", "  \n", ""],
  ])("is repeated as far as it is harmless: %s", (_, stderr, shown) => {
    expect(repeatable(stderr, told)).toBe(shown);
  });

  it("is repeated only so far", () => {
    expect(repeatable("error ".repeat(1_000), told).length).toBeLessThanOrEqual(300);
  });
});
