import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EXEC_V1 } from "#kube";
import { ownProvider, ProviderFileError, parseProviderFile, providerFileText, writeProviderFile } from "./index.ts";

const parse = (text: string) => parseProviderFile(text, { file: "/f.json", cwd: "/plugin" });
const exec = { apiVersion: EXEC_V1, command: "./bin/secretreader-plugin", provideClusterInfo: true };
const file = (...providers: unknown[]) => JSON.stringify({ providers });

describe("a provider file", () => {
  it("is read as upstream's consumers read it", () => {
    const text = file(
      { name: "secretreader", execConfig: exec },
      { name: "eks", execConfig: { ...exec, command: "aws" } },
    );
    expect(parse(text)).toEqual({
      providers: [
        {
          name: "secretreader",
          exec: { ...exec, command: "/plugin/bin/secretreader-plugin", args: [], env: [], interactiveMode: "Never" },
          argsPolicy: "Ignore",
          envPolicy: "Ignore",
        },
        expect.objectContaining({ name: "eks", exec: expect.objectContaining({ command: "aws" }) }),
      ],
      warnings: [],
    });
  });

  it("may be YAML, in any case of its keys, and hold what means nothing to us", () => {
    const { providers, warnings } = parse(`
Providers:
  - Name: a
    execconfig: { APIVersion: ${EXEC_V1}, command: aws, interactiveMode: Always, plugins: [] }
    profileSourcedCLIArgsPolicy: Append
    profileSourcedEnvVarsPolicy: Replace
    weight: 3
`);
    expect(providers).toMatchObject([
      { name: "a", exec: { command: "aws", interactiveMode: "Never" }, argsPolicy: "Append", envPolicy: "Replace" },
    ]);
    expect(warnings).toEqual([
      "provider file /f.json: providers[0] has an unknown field weight",
      'provider file /f.json: provider "a": execConfig has an unknown field plugins',
    ]);
  });

  it.each(["{}", '{"providers": null}', '{"providers": []}'])("may name nobody: %j", (text) => {
    expect(parse(text)).toEqual({ providers: [], warnings: [] });
  });

  it("may name one of our plugins instead of a program", () => {
    const text = file({ name: "ocm", builtin: "cp-creds", managedServiceAccount: "msa" });
    expect(parse(text).providers).toEqual([
      { name: "ocm", builtin: "cp-creds", managedServiceAccount: "msa", argsPolicy: "Ignore", envPolicy: "Ignore" },
    ]);
  });

  it.each([
    ["nothing", " \n", /f.json is empty/],
    ["text", "{", /is neither JSON nor YAML/],
    ["a list", "[]", /the file must be an object/],
    ["providers that are no list", '{"providers": {}}', /providers must be a list/],
    ["a provider without a name", file({ execConfig: exec }), /providers\[0\] needs a name/],
    ["a name twice", file({ name: "a" }, { name: "a" }), /provider "a" is there twice; remove one/],
    [
      "no command",
      file({ name: "a", execConfig: { apiVersion: EXEC_V1 } }),
      /provider "a": exec.command must be specified/,
    ],
    [
      "an unknown version",
      file({ name: "a", execConfig: { ...exec, apiVersion: "v1" } }),
      /provider "a": exec plugin: invalid apiVersion "v1"/,
    ],
    [
      "an unknown policy",
      file({ name: "a", profileSourcedCLIArgsPolicy: "Prepend" }),
      /provider "a": unsupported ProfileSourcedCLIArgsPolicy: "Prepend"/,
    ],
    ["an unknown plugin of ours", file({ name: "a", builtin: "magic" }), /there is no built-in provider "magic"/],
    [
      "two ways at once",
      file({ name: "a", builtin: "secretreader", execConfig: exec }),
      /has both execConfig and builtin/,
    ],
  ])("is refused with %s", (_, text, message) => {
    expect(() => parse(text)).toThrow(ProviderFileError);
    expect(() => parse(text)).toThrow(message);
  });
});

describe("writing a provider file", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "providers-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const own = ownProvider({
    plugin: "token-secretreader",
    capstan: ["/usr/bin/node", "/opt/capstan/main.js"],
    kubeconfig: "/d/hub.kubeconfig",
  });

  it("gives what every consumer can read, with absolute paths", () => {
    expect(JSON.parse(providerFileText([own]))).toEqual({
      providers: [
        {
          name: "token-secretreader",
          execConfig: {
            apiVersion: EXEC_V1,
            command: "/usr/bin/node",
            args: ["/opt/capstan/main.js", "plugin", "token-secretreader"],
            env: [{ name: "KUBECONFIG", value: "/d/hub.kubeconfig" }],
            provideClusterInfo: true,
            interactiveMode: "Never",
          },
        },
      ],
    });
  });

  it("reads back as it was, and is written only when something is different", async () => {
    const path = join(folder, "f.json");
    const msa = ownProvider({ plugin: "cp-creds", capstan: ["/c"], kubeconfig: "/k", managedServiceAccount: "m" });
    const providers = [own, { ...msa, argsPolicy: "Append", envPolicy: "AppendIfNotExists" } as const];
    await writeProviderFile(path, providers);
    expect(parse(await readFile(path, "utf8")).providers).toEqual(providers);
    const before = await stat(path);
    expect(before.mode & 0o777).toBe(0o600);
    await writeProviderFile(path, providers);
    expect((await stat(path)).ino).toBe(before.ino);
    await writeProviderFile(path, [own]);
    expect((await stat(path)).ino).not.toBe(before.ino);
  });
});
