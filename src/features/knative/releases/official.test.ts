import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import type { ManifestFetcher } from "./fetcher.ts";
import { knownVersions, officialFiles, officialSource, pullOfficial } from "./official.ts";
import { createReleases } from "./releases.ts";

const UPSTREAM = fileURLToPath(new URL("../../../../../shared/upstream/knative", import.meta.url));

let dir: string;
let asked: string[];
let content: (url: string) => string;
const fetcher: ManifestFetcher = {
  async pull(url) {
    asked.push(url);
    return { name: url, text: content(url), sha256: `sha of ${url}`, isNew: true };
  },
};

beforeEach(async () => {
  asked = [];
  content = (url) =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${/([a-z-]+)\.yaml$/.exec(url)?.[1]}, namespace: knative-serving }\n`;
  dir = await mkdtemp(join(tmpdir(), "capstan-official-"));
  return () => rm(dir, { recursive: true, force: true });
});

describe("the official releases", () => {
  it.skipIf(!existsSync(UPSTREAM))("lie in the same files as in upstream's operator", () => {
    const folders = [
      "knative-serving/1.22.1",
      "knative-serving/1.23.0",
      "knative-eventing/1.22.2",
      "knative-eventing/1.23.0",
      ...["contour", "gateway-api", "istio", "kourier"].map((name) => `ingress/1.23/${name}`),
      ...["ceph", "github", "gitlab", "kafka", "rabbitmq", "redis"].map((name) => `eventing-source/1.23/${name}`),
    ];
    for (const folder of folders) {
      const files = (officialFiles(folder) ?? []).map(({ path }) => path.slice(folder.length + 1)).sort();
      expect([folder, files]).toEqual([folder, readdirSync(join(UPSTREAM, folder)).sort()]);
    }
  });

  it("come from where upstream publishes, or from a mirror of that", () => {
    expect(officialFiles("knative-serving/1.23.0")?.[0]).toEqual({
      path: "knative-serving/1.23.0/1-serving-crds.yaml",
      url: "https://github.com/knative/serving/releases/download/knative-v1.23.0/serving-crds.yaml",
    });
    expect(officialFiles("ingress/1.23/kourier", "https://mirror")).toEqual([
      {
        path: "ingress/1.23/kourier/kourier.yaml",
        url: "https://mirror/knative-extensions/net-kourier/releases/download/knative-v1.23.0/kourier.yaml",
      },
    ]);
  });

  it.each(["knative-serving/latest", "knative-serving/1.23", "ingress/1.23/nginx", "constructor/1.0.0", "a/1.0/b/c"])(
    "have no %s",
    (folder) => expect(officialFiles(folder)).toBeUndefined(),
  );

  it("are asked for once, when somebody wants them", async () => {
    const releases = createReleases({ source: officialSource({ dir, fetcher }) });
    expect(await releases.versions("KnativeServing")).toEqual([...knownVersions("KnativeServing")].reverse());
    expect(asked).toEqual([]);
    const component = {
      kind: "KnativeServing" as const,
      spec: { version: "1.22", ingress: { kourier: { enabled: true } } },
    };
    const first = await releases.target(component);
    expect([first.version, first.manifests.length, asked.length]).toEqual(["1.22.1", 5, 5]);
    await releases.target(component);
    expect(asked).toHaveLength(5);
  });

  it("do not become newer because somebody asked for a newer one", async () => {
    const releases = createReleases({ source: officialSource({ dir, fetcher }) });
    await releases.target({ kind: "KnativeEventing", spec: { version: "9.9.9" } });
    expect((await releases.target({ kind: "KnativeEventing", spec: {} })).version).toBe("1.23.0");
  });

  it("that cannot be had say which file, why, and what to do", async () => {
    const source = officialSource({ dir, fetcher: { pull: () => Promise.reject(new Error("no route to host")) } });
    await expect(createReleases({ source }).target({ kind: "KnativeEventing", spec: {} })).rejects.toThrow(
      /^read knative-eventing\/1\.23\.0: https:\/\/github\.com\/\S+: no route to host; where there is no network, .*folder/,
    );
  });
});

describe("pulling", () => {
  it("fills a folder that needs no network any more", async () => {
    await pullOfficial(["knative-serving/1.22.0", "ingress/1.22/kourier"], { dir, fetcher });
    asked = [];
    const releases = createReleases({ source: officialSource({ dir, fetcher }) });
    const spec = { version: "1.22.0", ingress: { kourier: { enabled: true } } };
    expect((await releases.target({ kind: "KnativeServing", spec })).manifests).toHaveLength(5);
    expect(await releases.versions("KnativeServing")).toContain("1.22.0");
    expect(asked).toEqual([]);
  });

  it("leaves what is there as it is when it fails half-way", async () => {
    await pullOfficial(["knative-serving/1.23.0"], { dir, fetcher });
    const file = join(dir, "knative-serving/1.23.0/1-serving-crds.yaml");
    const before = await readFile(file, "utf8");
    content = (url) => {
      if (url.endsWith("serving-hpa.yaml")) throw new Error("broke off");
      return "changed";
    };
    await expect(pullOfficial(["knative-serving/1.23.0"], { dir, fetcher })).rejects.toThrow("serving-hpa.yaml: broke");
    expect(await readFile(file, "utf8")).toBe(before);
    expect(await readdir(join(dir, "knative-serving"))).toEqual(["1.23.0"]);
  });
});
