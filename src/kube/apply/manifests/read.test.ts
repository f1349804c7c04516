import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ManifestError, manifestsIn, readManifests } from "./index.ts";

const configMap = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "capstan-manifests-"));
  await mkdir(join(folder, "inner"));
  const files = {
    "b.yaml": configMap("b"),
    "a.yml": `${configMap("a1")}---\n${configMap("a2")}`,
    "c.json": JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" } }),
    "notes.txt": "no manifest",
    "inner/d.yaml": configMap("d"),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const namesIn = async (...args: Parameters<typeof readManifests>) =>
  (await readManifests(...args)).map(({ object }) => object.metadata.name);

async function problemsOf(...args: Parameters<typeof readManifests>): Promise<readonly string[]> {
  const error: unknown = await readManifests(...args).catch((caught: unknown) => caught);
  if (!(error instanceof ManifestError)) throw new Error("nothing was wrong");
  return error.problems;
}

describe("paths", () => {
  it("are files and folders; a folder's files come by name, and only those that look like manifests", async () => {
    expect(await namesIn([folder])).toEqual(["a1", "a2", "b", "c"]);
    expect(await namesIn([join(folder, "b.yaml"), folder])).toEqual(["b", "a1", "a2", "c"]);
  });

  it("lead into folders of folders when asked to", async () => {
    expect(await namesIn([folder], { recursive: true })).toEqual(["a1", "a2", "b", "c", "d"]);
  });

  it("may be standard input", async () => {
    expect(await namesIn(["-"], { stdin: async () => configMap("x") })).toEqual(["x"]);
  });

  it.each([
    ["https://example.com/a.yaml", /URLs are not read/],
    ["/nonexistent/x.yaml", /there is no such file/],
  ])("like %s are refused with a reason", async (path, why) => {
    expect((await problemsOf([path])).join()).toMatch(why);
  });

  it("without any object are a mistake", async () => {
    await writeFile(join(folder, "inner/empty.yaml"), "# nothing\n");
    expect(await problemsOf([join(folder, "inner/empty.yaml")])).toEqual([expect.stringContaining("no objects")]);
    await rm(join(folder, "inner/empty.yaml"));
  });

  it("to bytes that are no text are named", async () => {
    await writeFile(join(folder, "inner/bytes.yaml"), Buffer.from([0xc3, 0x28]));
    expect(await problemsOf([join(folder, "inner/bytes.yaml")])).toEqual([expect.stringContaining("UTF-8")]);
    await rm(join(folder, "inner/bytes.yaml"));
  });
});

describe("an object that is there twice", () => {
  const stdin = (second: string) => async () =>
    `${configMap("x")}data: {a: "1"}\n---\n${configMap("x")}data: {a: "${second}"}\n`;

  it("in the same words is meant once", async () => {
    expect(await namesIn(["-"], { stdin: stdin("1") })).toEqual(["x"]);
  });

  it("in other words is a mistake, and both places are named", async () => {
    expect(await problemsOf(["-"], { stdin: stdin("2") })).toEqual([
      "standard input, document 2, line 6: ConfigMap x is different from standard input, document 1, line 1",
    ]);
  });
});

describe("objects", () => {
  it("in lists stand for themselves, with the kind of the list where they have none", () => {
    const list = {
      apiVersion: "v1",
      kind: "List",
      items: [{ apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }],
    };
    const maps = { apiVersion: "v1", kind: "ConfigMapList", items: [{ metadata: { name: "m" } }] };
    const { manifests, problems } = manifestsIn(`${JSON.stringify(list)}\n---\n${JSON.stringify(maps)}`, "f");
    expect(problems).toEqual([]);
    expect(manifests.map(({ object, source }) => [object.kind, object.metadata.name, source])).toEqual([
      ["Secret", "s", "f, document 1, line 1, item 1"],
      ["ConfigMap", "m", "f, document 2, line 3, item 1"],
    ]);
  });

  it.each([
    ["- 1", "it is no object"],
    ["a: 1", "it has no kind"],
    ["kind: X", "X has no apiVersion"],
    ["{kind: X, apiVersion: v1}", "X has no metadata"],
    ["{kind: X, apiVersion: v1, metadata: {}}", "X has no name"],
    ["{kind: X, apiVersion: v1, metadata: {name: x, labels: [a]}}", "X x has labels that are no map"],
    ["{kind: X, apiVersion: v1, metadata: {name: x, finalizers: a}}", "X x has finalizers that are no list"],
    ["{kind: X, apiVersion: v1, metadata: {name: x, ownerReferences: [1]}}", "X x has ownerReferences without an"],
    ["{kind: Job, apiVersion: batch/v1, metadata: {generateName: j-}}", "Job has only a generateName"],
  ])("%s: %s", (text, problem) => {
    expect(manifestsIn(`\n${text}`, "dir/x.yaml").problems).toEqual([
      expect.stringContaining(`dir/x.yaml, document 1, line 2: ${problem}`),
    ]);
  });

  it("may have only a generateName where somebody names them later", () => {
    const text = "{kind: Job, apiVersion: batch/v1, metadata: {generateName: j-}}";
    expect(manifestsIn(text, "f", { generatedNames: true })).toMatchObject({ problems: [], manifests: [{}] });
    const nameless = text.replace("generateName: j-", "");
    expect(manifestsIn(nameless, "f", { generatedNames: true }).problems).toEqual([expect.stringContaining("no name")]);
  });

  it("that no server would take for their size are refused here", () => {
    const text = `${configMap("huge")}data: {k: "${"x".repeat(3 * 1024 * 1024)}"}\n`;
    expect(manifestsIn(text, "f").problems).toEqual([expect.stringContaining("no server takes more than 3145728")]);
  });
});
