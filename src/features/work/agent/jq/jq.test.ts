import { describe, expect, it } from "vitest";
import { without } from "./index.ts";

const pod = {
  metadata: { name: "p", annotations: { "a.b/c": "1", d: "2" } },
  spec: {
    replicas: 3,
    containers: [
      {
        name: "web",
        env: [
          { name: "A", value: "1" },
          { name: "B", value: "2" },
        ],
        image: "nginx:1",
      },
      { name: "side", env: [{ name: "A", value: "3" }] },
    ],
  },
};

describe("what an expression leads to goes", () => {
  it.each<[string, unknown]>([
    [".spec.replicas", { ...pod, spec: { containers: pod.spec.containers } }],
    ['.metadata.annotations["a.b/c"]', { ...pod, metadata: { name: "p", annotations: { d: "2" } } }],
    ['.metadata.annotations."a.b/c"', { ...pod, metadata: { name: "p", annotations: { d: "2" } } }],
    [".metadata | .annotations, .name", { ...pod, metadata: {} }],
    [".spec.containers[1]", { ...pod, spec: { replicas: 3, containers: [pod.spec.containers[0]] } }],
    [".spec.containers[-1]", { ...pod, spec: { replicas: 3, containers: [pod.spec.containers[0]] } }],
    [".spec.containers[0:2]", { ...pod, spec: { replicas: 3, containers: [] } }],
    [".spec.containers[]", { ...pod, spec: { replicas: 3, containers: [] } }],
    [
      '.spec.containers[] | select(.name == "side")',
      { ...pod, spec: { replicas: 3, containers: [pod.spec.containers[0]] } },
    ],
    [
      '.spec.containers[] | select(.name | test("^s")) | .env',
      { ...pod, spec: { replicas: 3, containers: [pod.spec.containers[0], { name: "side" }] } },
    ],
    [
      '.spec.containers[] | select(.image // "none" | startswith("nginx")) | .env[] | select(.name == "A" or .value >= "2")',
      {
        ...pod,
        spec: { replicas: 3, containers: [{ name: "web", env: [], image: "nginx:1" }, pod.spec.containers[1]] },
      },
    ],
    [
      '.spec.containers[] | select(.name != "web" and (.env | length) < 2) | .env[0]',
      { ...pod, spec: { replicas: 3, containers: [pod.spec.containers[0], { name: "side", env: [] }] } },
    ],
    ['getpath(["spec", "replicas"])', { ...pod, spec: { containers: pod.spec.containers } }],
    [
      '.spec.containers[] | select(.name | IN("side", "other"))',
      { ...pod, spec: { replicas: 3, containers: [pod.spec.containers[0]] } },
    ],
    [
      '.spec.containers[] | if .name == "web" then .image else empty end',
      {
        ...pod,
        spec: {
          replicas: 3,
          containers: [{ name: "web", env: pod.spec.containers[0]?.env }, pod.spec.containers[1]],
        },
      },
    ],
    [
      '.spec.containers[] | if .name == "none" then .name elif has("image") then .image, .env else .env[0] end',
      { ...pod, spec: { replicas: 3, containers: [{ name: "web" }, { name: "side", env: [] }] } },
    ],
    [
      'limit(1; .spec.containers[] | select(.env | any(.name == "A")))',
      { ...pod, spec: { replicas: 3, containers: [pod.spec.containers[1]] } },
    ],
    [
      '.spec.containers[] | select(.name | test("^SIDE$"; "i"))',
      { ...pod, spec: { replicas: 3, containers: [pod.spec.containers[0]] } },
    ],
    [".metadata.annotations[] | strings", { ...pod, metadata: { name: "p", annotations: {} } }],
    [".metadata | .[] | objects", { ...pod, metadata: { name: "p" } }],
    [
      '.spec.containers[] | select([.env[].name] == ["A", "B"])',
      { ...pod, spec: { replicas: 3, containers: [pod.spec.containers[1]] } },
    ],
    [".spec.gone.deeper", pod],
    [".metadata.name.deeper?", pod],
    [
      ".. | .env?",
      { ...pod, spec: { replicas: 3, containers: [{ name: "web", image: "nginx:1" }, { name: "side" }] } },
    ],
    [".", null],
  ])("%s", (expression, rest) => {
    const before = structuredClone(pod);
    expect(without(pod, expression)).toEqual(rest);
    expect(pod).toEqual(before);
  });
});

describe("what is wrong is told", () => {
  it.each([
    ["spec.replicas", "spec/0 is not understood here"],
    [".spec.", "unexpected"],
    [".spec[", "ends too early"],
    [".metadata.name.deeper", 'a string cannot be asked for "deeper"'],
    [".spec | if .replicas then .x", "ends too early"],
    ["getpath(.metadata.name)", "a string is neither an object nor a list"],
    ['limit("1"; .spec)', "a string is no number to count to"],
    ['.metadata.name | select(test("p"; "l"))', 'the flags "l" are not understood here'],
    [".spec.replicas[]", "nothing in it"],
    [".spec.replicas == 3", "no part of the object"],
    ['"text"', "no part of the object"],
    [".spec | frobnicate(1)", "frobnicate/1"],
    ['.spec | select("\\(.x)")', "not understood"],
    ["(".repeat(500), "nested too deeply"],
    ['.spec.containers[] | select(.name | test("("))', "missing closing"],
  ])("%s", (expression, words) => {
    expect(() => without(pod, expression)).toThrow(words);
  });

  it("also that it takes too long, because strangers write expressions", () => {
    const wide = { list: Array.from({ length: 1_000 }, (_, index) => index) };
    expect(() => without(wide, `.list[]${" | (1, 2)".repeat(10)}`)).toThrow("it takes too long");
  });
});
