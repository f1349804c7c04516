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
    [".metadata.name.deeper", '"p" cannot be asked for "deeper"'],
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
