import { describe, expect, it } from "vitest";
import type { Container, Pod } from "#api/core";
import { argumentsOf, expanded, variablesOf, wantedBy } from "./variables.ts";

const POD: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "ns", uid: "u-1", labels: { app: "x" }, annotations: { "a/b": "c" } },
  spec: { nodeName: "n1", serviceAccountName: "robot", containers: [] },
  status: { podIP: "10.1.2.3", podIPs: [{ ip: "10.1.2.3" }], hostIP: "127.0.0.1", hostIPs: [{ ip: "127.0.0.1" }] },
};
const CONTENTS = {
  configMap: (name: string) => (name === "cm" ? { colour: "red", SIZE: "9" } : undefined),
  secret: (name: string) => (name === "sec" ? { password: "pw" } : undefined),
};
const GIVEN = { HOSTNAME: "p", KUBERNETES_SERVICE_HOST: "127.0.0.1" };

const variables = (container: Partial<Container>) => variablesOf(POD, { name: "c", ...container }, CONTENTS, GIVEN);

describe("the variables of a container", () => {
  it("are those of every container, of whole objects, and its own, each of which wins over those before", () => {
    const env = variables({
      envFrom: [{ prefix: "CM_", configMapRef: { name: "cm" } }, { secretRef: { name: "sec" } }],
      env: [
        { name: "password", value: "mine" },
        { name: "GREETING", value: "I am $(HOSTNAME), $(CM_colour), $(GREETING), $$(HOSTNAME)" },
        { name: "HOSTNAME", value: "other" },
        { name: "EMPTY" },
      ],
    });
    expect(env).toEqual({
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      CM_colour: "red",
      CM_SIZE: "9",
      password: "mine",
      GREETING: "I am p, red, $(GREETING), $(HOSTNAME)",
      HOSTNAME: "other",
      EMPTY: "",
    });
  });

  it.each([
    ["metadata.name", "p"],
    ["metadata.namespace", "ns"],
    ["metadata.uid", "u-1"],
    ["metadata.labels['app']", "x"],
    ["metadata.annotations['a/b']", "c"],
    ["metadata.labels['none']", ""],
    ["spec.nodeName", "n1"],
    ["spec.serviceAccountName", "robot"],
    ["status.podIP", "10.1.2.3"],
    ["status.podIPs", "10.1.2.3"],
    ["status.hostIP", "127.0.0.1"],
    ["status.hostIPs", "127.0.0.1"],
  ])("tell %s of the Pod", (fieldPath, value) => {
    expect(variables({ env: [{ name: "V", valueFrom: { fieldRef: { fieldPath } } }] }).V).toBe(value);
  });

  it.each<[what: string, container: Partial<Container>, message: string]>([
    [
      "a Secret",
      { env: [{ name: "V", valueFrom: { secretKeyRef: { name: "no", key: "k" } } }] },
      'secret "no" not found',
    ],
    [
      "a key of a Secret",
      { env: [{ name: "V", valueFrom: { secretKeyRef: { name: "sec", key: "k" } } }] },
      "couldn't find key k in Secret ns/sec",
    ],
    [
      "a ConfigMap",
      { env: [{ name: "V", valueFrom: { configMapKeyRef: { name: "no", key: "k" } } }] },
      'configmap "no" not found',
    ],
    [
      "a key of a ConfigMap",
      { env: [{ name: "V", valueFrom: { configMapKeyRef: { name: "cm", key: "k" } } }] },
      "couldn't find key k in ConfigMap ns/cm",
    ],
    ["a whole Secret", { envFrom: [{ secretRef: { name: "no" } }] }, 'secret "no" not found'],
    ["a whole ConfigMap", { envFrom: [{ configMapRef: { name: "no" } }] }, 'configmap "no" not found'],
    [
      "a field",
      { env: [{ name: "V", valueFrom: { fieldRef: { fieldPath: "spec.dreams" } } }] },
      "unsupported fieldPath: spec.dreams",
    ],
    [
      "another source",
      { env: [{ name: "V", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } }] },
      "a variable comes from resourceFieldRef, which this node does not offer",
    ],
  ])("say what is missing: %s", (_, container, message) => {
    expect(() => variables(container)).toThrow(message);
  });

  it("do without what is optional", () => {
    const optional = true;
    const env = variables({
      envFrom: [{ secretRef: { name: "no", optional } }, { configMapRef: { name: "no", optional } }],
      env: [
        { name: "A", valueFrom: { secretKeyRef: { name: "no", key: "k", optional } } },
        { name: "B", valueFrom: { configMapKeyRef: { name: "cm", key: "k", optional } } },
      ],
    });
    expect(env).toEqual(GIVEN);
  });

  it("name the objects that they are read from", () => {
    const container: Container = {
      name: "c",
      envFrom: [{ configMapRef: { name: "a" } }, { secretRef: { name: "b" } }],
      env: [
        { name: "X", value: "x" },
        { name: "C", valueFrom: { configMapKeyRef: { name: "a", key: "k" } } },
        { name: "D", valueFrom: { secretKeyRef: { name: "d", key: "k" } } },
      ],
    };
    expect(wantedBy(container)).toEqual({ configMaps: new Set(["a"]), secrets: new Set(["b", "d"]) });
  });
});

describe("the arguments of a container", () => {
  it.each<[command: string[] | undefined, args: string[], words: string[]]>([
    [undefined, ["hub", "--x=$(HOSTNAME)"], ["hub", "--x=p"]],
    [["capstan"], ["hub"], ["hub"]],
    [["/usr/local/bin/capstan", "hub"], ["--y"], ["hub", "--y"]],
    [[], [], []],
  ])("of command %j and args %j are %j", (command, args, words) => {
    expect(argumentsOf({ name: "c", args, ...(command && { command }) }, GIVEN)).toEqual(words);
  });

  it("cannot be for another program, because the node has no other", () => {
    expect(() => argumentsOf({ name: "c", command: ["sh", "-c", "true"] }, {})).toThrow(
      '"sh": executable file not found',
    );
  });

  it.each([
    ["$(A)", "1"],
    ["$(A)$(B)$(C)", "12$(C)"],
    ["$$(A)", "$(A)"],
    ["$$$(A)", "$1"],
    ["cost: 5$", "cost: 5$"],
    ["$(toString)", "$(toString)"],
    ["$(A", "$(A"],
  ])("%s is read as %s", (text, value) => {
    expect(expanded(text, { A: "1", B: "2" })).toBe(value);
  });
});
