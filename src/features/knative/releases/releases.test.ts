import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KnativeEventingSpec, KnativeServingSpec } from "#api/knative";
import type { Component } from "../component.ts";
import { createReleases, directorySource, memorySource, ReleaseError, type Releases } from "./index.ts";

let root: string;
let releases: Releases;

const object = (kind: string, name: string, version: string, more = "") =>
  `apiVersion: v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n  namespace: knative-serving\n  labels: {app.kubernetes.io/version: "${version}"}\n${more}`;

const FILES: Record<string, string> = {
  "knative-serving/1.23.0/1-crds.yaml": object("ConfigMap", "first", "1.23.0"),
  "knative-serving/1.23.0/2-core.yaml": `${object("ConfigMap", "second", "1.23.0")}---\n# nothing\n---\n${object("Secret", "third", "1.23.5")}`,
  "knative-serving/1.23.0/notes.txt": "no manifest",
  "knative-serving/1.22.1/core.yaml": object("ConfigMap", "first", "1.22.1"),
  "knative-serving/latest/core.yaml": object("ConfigMap", "first", "devel"),
  "knative-serving/1.21.0/core.yaml": object("ConfigMap", "first", "1.20.0"),
  "knative-serving/1.20.0/core.yaml": "# nothing\n",
  "knative-serving/1.7.0/core.yaml": object("ConfigMap", "first", "1.7.0"),
  "knative-serving/README.md": "a file, no version",
  "knative-eventing/1.23.0/core.yaml": object("ConfigMap", "eventing", "1.23.0"),
  "ingress/1.23/istio/istio.yaml": object("ConfigMap", "istio", "1.0.0"),
  "ingress/1.23/kourier/kourier.yaml": object("ConfigMap", "kourier", "1.0.0"),
  "ingress/1.23/contour/contour.yaml": object("ConfigMap", "contour", "1.0.0"),
  "ingress/1.23/gateway-api/gateway.yaml": object("ConfigMap", "gateway-api", "1.0.0"),
  "ingress/latest/istio/istio.yaml": object("ConfigMap", "istio", "devel"),
  "security-guard/0.6/guard.yaml": object("ConfigMap", "guard", "0.6"),
  "extra/more.yaml": object("ConfigMap", "second", "1.23.0", "data: {more: yes-indeed}\n"),
  "extra/other.yaml": object("ConfigMap", "second", "1.19.0"),
  "extra/jobs.yaml":
    "{apiVersion: batch/v1, kind: Job, metadata: {generateName: a-}}\n---\n{apiVersion: batch/v1, kind: Job, metadata: {generateName: b-}}\n",
  "extra/broken.yaml": "a: [1\n",
};
for (const source of ["ceph", "github", "gitlab", "kafka", "rabbitmq", "redis"]) {
  FILES[`eventing-source/1.23/${source}/source.yaml`] = object("ConfigMap", source, "1.0.0");
}

const put = async (path: string, text: string) => {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
};

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "capstan-releases-"));
  for (const [path, text] of Object.entries(FILES)) await put(path, text);
  releases = createReleases({
    source: directorySource(root),
    fetchManifest: async (url) => ({ name: url, text: fetched(url) }),
  });
});
afterAll(() => rm(root, { recursive: true, force: true }));

function fetched(url: string): string {
  if (url.includes("missing")) throw new Error("404 Not Found");
  return object("ConfigMap", `from-${new URL(url).pathname.replaceAll(/[^a-z0-9]+/g, "-").slice(1)}`, "1.23.0");
}

const serving = (spec: KnativeServingSpec = {}): Component => ({ kind: "KnativeServing", spec });
const eventing = (spec: KnativeEventingSpec = {}): Component => ({ kind: "KnativeEventing", spec });
const NONE = { ingress: {} };
const namesIn = async (component: Component) =>
  (await releases.target(component)).manifests.map((manifest) => manifest.object.metadata.name);
const pathsOf = async (component: Component) =>
  (await releases.target(component)).paths.map((path) => path.replaceAll(root, "ROOT"));

describe("a release", () => {
  it("has the versions that have a folder, newest first", async () => {
    expect(await releases.versions("KnativeServing")).toEqual([
      "1.23.0",
      "1.22.1",
      "1.21.0",
      "1.20.0",
      "1.7.0",
      "latest",
    ]);
    expect(await releases.versions("KnativeEventing")).toEqual(["1.23.0"]);
  });

  it("consists of its files by name, without empty documents", async () => {
    expect(await namesIn(serving(NONE))).toEqual(["first", "second", "third"]);
    const { manifests, version } = await releases.target(serving(NONE));
    expect(version).toBe("1.23.0");
    expect(manifests[2]?.source).toMatch(/1\.23\.0\/2-core\.yaml, document \d, line \d+$/);
  });

  it("is read once, and again when its files change", async () => {
    const [first] = (await releases.target(serving({ version: "1.22", ...NONE }))).manifests;
    const [again] = (await releases.target(serving({ version: "1.22", ...NONE }))).manifests;
    expect(again).toBe(first);
    await put("knative-serving/1.22.1/more.yaml", object("ConfigMap", "late", "1.22.1"));
    expect(await namesIn(serving({ version: "1.22", ...NONE }))).toEqual(["first", "late"]);
  });
});

describe("[spec.ingress]", () => {
  it("is Istio when nothing is said", async () => {
    expect(await namesIn(serving())).toEqual(["first", "second", "third", "istio"]);
  });

  it.each([
    [{}, []],
    [{ istio: { enabled: false } }, []],
    [{ kourier: { enabled: true } }, ["kourier"]],
    [
      {
        "gateway-api": { enabled: true },
        kourier: { enabled: true },
        istio: { enabled: true },
        contour: { enabled: true },
      },
      ["istio", "contour", "kourier", "gateway-api"],
    ],
  ])(
    "[spec.ingress.istio.enabled] [spec.ingress.kourier.enabled] [spec.ingress.contour.enabled] [spec.ingress.gateway-api.enabled] each bring a folder: %j brings %j",
    async (ingress, brought) => {
      expect((await namesIn(serving({ ingress }))).slice(3)).toEqual(brought);
    },
  );

  it("of latest lies in a folder of that name", async () => {
    expect(await pathsOf(serving({ version: "latest" }))).toEqual([
      "ROOT/knative-serving/latest",
      "ROOT/ingress/latest/istio",
    ]);
  });

  it("that is not there is a mistake, but not with manifests of one's own", async () => {
    await expect(releases.target(serving({ version: "1.22" }))).rejects.toThrow("there is no ingress/1.22/istio");
    const own = serving({ version: "1.22", manifests: [{ URL: `${root}/knative-serving/1.22.1/core.yaml` }] });
    expect(await namesIn(own)).toEqual(["first"]);
    expect(await pathsOf(own)).toEqual(["ROOT/knative-serving/1.22.1/core.yaml"]);
  });
});

describe("[spec.source]", () => {
  const source = (...enabled: string[]) =>
    Object.fromEntries(
      ["ceph", "github", "gitlab", "kafka", "rabbitmq", "redis"].map((name) => [
        name,
        { enabled: enabled.includes(name) },
      ]),
    ) as NonNullable<KnativeEventingSpec["source"]>;

  it("is none when nothing is said", async () => {
    expect(await namesIn(eventing())).toEqual(["eventing"]);
    expect(await namesIn(eventing({ source: source() }))).toEqual(["eventing"]);
  });

  it.each([
    "[spec.source.ceph.enabled] brings ceph",
    "[spec.source.github.enabled] brings github",
    "[spec.source.gitlab.enabled] brings gitlab",
    "[spec.source.kafka.enabled] brings kafka",
    "[spec.source.rabbitmq.enabled] brings rabbitmq",
    "[spec.source.redis.enabled] brings redis",
  ])("%s", async (title) => {
    const name = title.split(" ").at(-1) ?? "";
    expect(await namesIn(eventing({ source: source(name) }))).toEqual(["eventing", name]);
  });

  it("brings several in an order of its own, and names them in one path", async () => {
    const component = eventing({ source: source("redis", "ceph") });
    expect(await namesIn(component)).toEqual(["eventing", "ceph", "redis"]);
    expect(await pathsOf(component)).toEqual([
      "ROOT/knative-eventing/1.23.0",
      "ROOT/eventing-source/1.23/ceph,ROOT/eventing-source/1.23/redis",
    ]);
  });
});

describe("[spec.security.securityGuard.enabled]", () => {
  const security = { securityGuard: { enabled: true } };

  it("brings the guard, which is not recorded", async () => {
    expect(await namesIn(serving({ ...NONE, security }))).toContain("guard");
    expect(await pathsOf(serving({ ...NONE, security }))).toEqual(["ROOT/knative-serving/1.23.0"]);
    expect(await namesIn(serving({ ...NONE, security, version: "latest" }))).toContain("guard");
  });

  it("needs a version that has one", async () => {
    await expect(releases.target(serving({ ...NONE, security, version: "1.7" }))).rejects.toThrow(
      "the current version of Knative Serving is 1.7. You need to install the version 1.8 or above to support the security guard",
    );
    const manifests = [{ URL: "knative-serving/1.7.0" }];
    expect(await namesIn(serving({ ...NONE, security, version: "1.7", manifests }))).toEqual(["first"]);
  });

  it("brings none when it is false", async () => {
    expect(await namesIn(serving({ ...NONE, security: { securityGuard: { enabled: false } } }))).not.toContain("guard");
  });
});

describe("manifests of one's own", () => {
  it("[spec.manifests.URL] take the place of the release", async () => {
    const URL = "https://example.com/v$VERSION/core.yaml".replace("$VERSION", `$${"{VERSION}"}`);
    const component = serving({
      ...NONE,
      version: "1.23.0",
      manifests: [{ URL }, { URL: "https://example.com/hpa.yaml" }],
    });
    expect(await namesIn(component)).toEqual(["from-v1-23-0-core-yaml", "from-hpa-yaml"]);
    expect(await pathsOf(component)).toEqual(["https://example.com/v1.23.0/core.yaml,https://example.com/hpa.yaml"]);
  });

  it("[spec.additionalManifests.URL] come last, in place of what they repeat", async () => {
    const additionalManifests = [{ URL: `${root}/extra/more.yaml` }, { URL: "https://example.com/x.yaml" }];
    const component = serving({ additionalManifests });
    expect(await namesIn(component)).toEqual(["first", "third", "istio", "second", "from-x-yaml"]);
    expect(await pathsOf(component)).toEqual([
      "ROOT/knative-serving/1.23.0",
      "ROOT/extra/more.yaml,https://example.com/x.yaml",
      "ROOT/ingress/1.23/istio",
    ]);
  });

  it("may hold what is named only later, and one does not stand for the other", async () => {
    const jobs = [{ URL: "extra/jobs.yaml" }];
    const { manifests } = await releases.target(serving({ ...NONE, additionalManifests: jobs }));
    expect(manifests.map(({ object: { metadata } }) => metadata.generateName).filter(Boolean)).toEqual(["a-", "b-"]);
  });

  it.each([
    [{ version: "0.22" }, "the manifests of the target version 0.22 are not available to this release"],
    [{ version: "0.22.1" }, "the manifests of the target version 0.22.1 are not available to this release"],
    [{ version: "../../etc" }, "does not lie in the folder of the releases"],
    [{ version: "1.20" }, "there is no resource available in the target manifests"],
    [
      { version: "1.21" },
      "the version of the manifests v1.20.0 of the component first does not match the target version of the operator CR v1.21.0",
    ],
    [
      { version: "1.23", additionalManifests: [{ URL: "extra/other.yaml" }] },
      "the version of the manifests v1.19.0 of the component second does not match the target version of the operator CR v1.23.0",
    ],
    [
      { version: "1.23.0", manifests: [{ URL: "knative-serving/latest" }] },
      "the version of the manifests vdevel of the component first does not match the target version of the operator CR v1.23.0",
    ],
    [
      { additionalManifests: [{ URL: "https://example.com/missing.yaml" }] },
      "read https://example.com/missing.yaml: 404 Not Found",
    ],
    [{ additionalManifests: [{ URL: "extra/broken.yaml" }] }, "extra/broken.yaml, document 1, line"],
    [{ manifests: [{ URL: "/etc/passwd" }], version: "1.23" }, "does not lie in the folder of the releases"],
    [{ manifests: [{ URL: "../secret.yaml" }], version: "1.23" }, "does not lie in the folder of the releases"],
    [{ manifests: [{ URL: "nothing.yaml" }], version: "1.23" }, "there is no nothing.yaml in the releases"],
  ])("%#: %j is a mistake: %s", async (spec, problem) => {
    const error: unknown = await releases.target(serving({ ...NONE, ...spec })).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ReleaseError);
    expect((error as Error).message).toContain(problem);
  });

  it("are not checked against a version that nobody named, or latest", async () => {
    expect(await namesIn(serving({ ...NONE, manifests: [{ URL: "knative-serving/1.21.0" }] }))).toEqual(["first"]);
    expect(await namesIn(serving({ ...NONE, version: "latest" }))).toEqual(["first"]);
  });
});

describe("[status.manifests] what is installed", () => {
  it("is read from the paths that were recorded", async () => {
    const { paths, manifests } = await releases.target(
      serving({
        ingress: { istio: { enabled: true }, kourier: { enabled: true } },
        additionalManifests: [{ URL: `${root}/extra/jobs.yaml` }],
      }),
    );
    const installed = await releases.installed(paths);
    expect(new Set(installed)).toEqual(new Set(manifests));
  });

  it("is found although another operator recorded it", async () => {
    const installed = await releases.installed([
      "/var/run/ko/knative-serving/1.23.0",
      "/var/run/ko/ingress/1.23/istio,/elsewhere/ingress/1.23/kourier",
    ]);
    expect(installed.map((manifest) => manifest.object.metadata.name)).toEqual([
      "first",
      "second",
      "third",
      "istio",
      "kourier",
    ]);
  });

  it("is nothing where nothing was recorded, and a mistake where it is gone", async () => {
    expect(await releases.installed([])).toEqual([]);
    await expect(releases.installed([`${root}/knative-serving/1.2.3`])).rejects.toThrow(ReleaseError);
  });
});

describe("without any releases", () => {
  const empty = createReleases({ source: memorySource("nowhere", {}) });

  it("nobody can tell which version is meant", async () => {
    await expect(empty.targetVersion(serving())).rejects.toThrow("there are no releases of KnativeServing in nowhere");
    await expect(empty.targetVersion(serving({ version: "1.23.0" }))).resolves.toBe("1.23.0");
  });

  it("URLs are refused where nobody fetches them", async () => {
    const manifests = [{ URL: "https://example.com/a.yaml" }];
    await expect(empty.target(serving({ version: "1.23.0", manifests }))).rejects.toThrow("not read from URLs here");
  });
});
