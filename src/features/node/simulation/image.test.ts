import { describe, expect, it } from "vitest";
import { imageIdOf, isMissing, isPause } from "./image.ts";

describe("images by their names", () => {
  it.each([
    ["nginx:404", true],
    ["registry.example:5000/team/app:404", true],
    ["non-existent", true],
    ["registry.example/non-existent:1", true],
    ["app:non-existent", true],
    ["invalid.registry.k8s.io/invalid/alpine:3.1", true],
    ["nginx", false],
    ["nginx:1.404", false],
    ["registry.example:404/app:1", false],
    ["invalidator:1", false],
  ])("pulling %s fails: %s", (image, expected) => {
    expect(isMissing(image)).toBe(expected);
  });

  it.each([
    ["registry.k8s.io/pause:3.10", true],
    ["pause", true],
    ["registry.k8s.io/pause/app:1", false],
    ["pauser:1", false],
  ])("%s only waits: %s", (image, expected) => {
    expect(isPause(image)).toBe(expected);
  });

  it("are told apart by a digest behind their repository", () => {
    const id = imageIdOf("registry.example:5000/team/app:1");
    expect(id).toMatch(/^registry\.example:5000\/team\/app@sha256:[0-9a-f]{64}$/);
    expect(imageIdOf("registry.example:5000/team/app:2")).not.toBe(id);
  });
});
