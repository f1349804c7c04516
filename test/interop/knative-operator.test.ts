/**
 * Upstream's Knative operator and ours, one after the other on the same installations: whoever comes second finds
 * everything as it is, disturbs nothing, goes on, and takes all of it away in the end.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Deployment } from "#api/apps";
import { ConfigMap, Namespace, Pod, ServiceAccount } from "#api/core";
import { KnativeServing } from "#api/knative";
import type { KubeObject } from "#api/meta";
import { ownProvider, providerFileText } from "#features/inventory";
import { directorySource } from "#features/knative";
import { type Client, isNotFound } from "#kube";
import { findCondition } from "#lib/conditions";
import { KnativeStage, missingReleases, type Operator, REF, RELEASES, untilGone } from "../suites/knative/stage.ts";
import { eventually } from "../support/eventually.ts";
import { startEmbedded } from "../support/servers.ts";
import { prepareForStock, startStock, stockOperator } from "./stock-knative-operator.ts";
import { missingOf } from "./strangers.ts";

/** Upstream's may say this as it ends, and then that is how the next one finds it. */
const LAST_WORD = "cluster provider closed during shutdown";
const root = fileURLToPath(new URL("../..", import.meta.url));
const NAMESPACE = "knative-serving";
const KEY = `${NAMESPACE}/ks`;
const INGRESS = { kourier: { enabled: true }, istio: { enabled: false }, contour: { enabled: false } };
/** Upstream's asks for one object after the other, slowly on purpose, and all over again. */
const PATIENCE = 180_000;
const TIMEOUT = 2 * PATIENCE;

const missing = missingOf({ paths: [stockOperator] }) ?? missingReleases();

describe.skipIf(missing)(`upstream's Knative operator and ours${missing ? ` (${missing})` : ""}`, () => {
  let stage: KnativeStage;
  let operator: Operator | undefined;
  const starts = { ours: startOurs, "upstream's": startTheirs } as const;
  let releases: string;
  let providerFile: string;

  beforeAll(async () => {
    execFileSync(process.execPath, [join(root, "tools/build.mjs")], { stdio: "inherit" });
    stage = await KnativeStage.open(startEmbedded);
    await prepareForStock(stage.hub);
    releases = releasesWithAFormer(stage.inventory.dir);
    const capstan: [string, string] = [process.execPath, join(root, "dist/cli/main.js")];
    const kubeconfig = stage.inventory.hubKubeconfig;
    const provider = ownProvider({ plugin: "token-secretreader", capstan, kubeconfig });
    providerFile = await stage.inventory.file("both.json", providerFileText([provider]));
  }, 120_000);
  afterAll(async () => {
    await operator?.stop();
    await stage?.close();
  });

  function startOurs(): Promise<Operator> {
    return stage.start({ providerFile, releases: directorySource(releases) });
  }

  function startTheirs(): Promise<Operator> {
    const { hubKubeconfig: kubeconfig, dir } = stage.inventory;
    return startStock({ kubeconfig, providerFile, releases, dir });
  }

  const handOver = async (start: () => Promise<Operator>) => {
    await operator?.stop();
    operator = undefined;
    operator = await start();
  };
  const look = () => stage.serving("ks");
  const change = (spec: object) => stage.hub.patch(KnativeServing, KEY, { spec });
  const create = (ref: object | undefined) =>
    stage.hub.create(KnativeServing, {
      metadata: { name: "ks", namespace: NAMESPACE },
      spec: { version: "1.22.1", ingress: INGRESS, ...(ref && { clusterProfileRef: REF }) },
    });
  /** Ready, and not only for an earlier wish. */
  const untilReadyAgain = (version: string) =>
    eventually(async () => {
      const { metadata, status } = await look();
      expect(status).toMatchObject({ version, observedGeneration: metadata.generation });
      expect(findCondition(status?.conditions, "Ready")).toMatchObject({ status: "True" });
    }, PATIENCE);

  describe.each([
    ["on the hub itself", undefined],
    ["on a spoke", REF],
  ])("Serving %s", (_, ref) => {
    const target = () => (ref ? stage.spoke : stage.hub);
    const untilNothingIsLeft = () =>
      eventually(async () => {
        const ids = Object.keys(await standing(target()));
        expect(ids.filter((id) => !/^(customresourcedefinitions|namespaces)\//.test(id))).toEqual([]);
        const [maps, accounts, pods] = await Promise.all([
          target().list(ConfigMap, { namespace: NAMESPACE }),
          target().list(ServiceAccount, { namespace: NAMESPACE }),
          target().list(Pod, { namespace: NAMESPACE }),
        ]);
        const names = [maps, accounts, pods].map(({ items }) => items.map(({ metadata }) => metadata.name));
        expect(names).toEqual([["kube-root-ca.crt"], ["default"], []]);
        await target().get(Namespace, NAMESPACE);
      }, PATIENCE);

    describe.each([
      ["upstream's", "ours"],
      ["ours", "upstream's"],
    ] as const)("installed by %s, then cared for by %s", (first, second) => {
      it(
        "is not disturbed by the change",
        async () => {
          await handOver(starts[first]);
          await create(ref);
          await untilReadyAgain("1.22.1");
          // A pass of its own after the first; whoever installs may still be at it.
          await change({ config: { network: { mark: "first" } } });
          await untilReadyAgain("1.22.1");
          await operator?.stop();
          operator = undefined;
          const before = await standing(target());
          expect(Object.keys(before).length).toBeGreaterThan(80);

          const story = await readiness(stage.hub);
          await handOver(starts[second]);
          await change({ config: { network: { mark: "second" } } });
          await eventually(async () => {
            const { data } = await target().get(ConfigMap, `${NAMESPACE}/config-network`);
            expect(data?.mark).toBe("second");
          }, PATIENCE);
          await untilReadyAgain("1.22.1");
          expect(await standing(target())).toMatchObject(before);
          const since = story.stop().filter((ready) => !ready.includes(LAST_WORD));
          expect(new Set(since)).toEqual(new Set(["True"]));
        },
        TIMEOUT,
      );

      it(
        "goes on to the next version, and nothing of the former is left",
        async () => {
          await change({ version: "1.23.0" });
          await untilReadyAgain("1.23.0");
          await eventually(async () => {
            const ids = Object.keys(await standing(target()));
            // Upstream's leaves finished Jobs to their time to live.
            const kept = second === "ours" ? /^$/ : /^(jobs|pods)\//;
            expect(ids.filter((id) => /former|1\.22/.test(id) && !kept.test(id))).toEqual([]);
            const { data } = await target().get(ConfigMap, `${NAMESPACE}/config-changing`);
            const { metadata, spec } = await target().get(Deployment, `${NAMESPACE}/changing`);
            const env = spec.template.spec.containers.flatMap((container) => container.env ?? []);
            expect(data).toMatchObject({ both: "1.23.0", latter: "yes" });
            expect(env).toContainEqual({ name: "LATTER", value: "yes" });
            // Upstream's knows what to take away from an object by an annotation that only its own writes leave.
            if (second !== "ours") return;
            expect(Object.keys({ ...data, ...metadata.labels })).not.toContain("former");
            expect(env).toHaveLength(1);
          }, PATIENCE);
        },
        TIMEOUT,
      );

      it(
        "leaves nothing but its namespace and the definitions when it goes",
        async () => {
          await stage.hub.delete(KnativeServing, KEY);
          await untilGone(look);
          await untilNothingIsLeft();
        },
        TIMEOUT,
      );
    });

    it(
      "goes when it was installed by upstream's, and deleted while nobody was there",
      async () => {
        await handOver(startTheirs);
        await create(ref);
        await untilReadyAgain("1.22.1");
        await operator?.stop();
        operator = undefined;
        await stage.hub.delete(KnativeServing, KEY);
        await handOver(startOurs);
        await untilGone(look);
        await untilNothingIsLeft();
      },
      TIMEOUT,
    );
  });
});

/**
 * Two releases of upstream's, which hardly differ in what they bring; so each gets something that only it has, and
 * something that both have in different ways.
 */
function releasesWithAFormer(dir: string): string {
  const folder = join(dir, "releases");
  const more: [version: string, minor: string, former: boolean][] = [
    ["1.22.1", "1.22", true],
    ["1.23.0", "1.23", false],
  ];
  for (const [version, minor, isFormer] of more) {
    const serving = join(folder, "knative-serving", version);
    mkdirSync(serving, { recursive: true });
    cpSync(join(RELEASES, "knative-serving", version), serving, { recursive: true });
    const kourier = join("ingress", minor, "kourier");
    cpSync(join(RELEASES, kourier), join(folder, kourier), { recursive: true });
    const documents = extras(version, isFormer).map((document) => JSON.stringify(document));
    writeFileSync(join(serving, "9-more.yaml"), documents.join("\n---\n"));
  }
  return folder;
}

function extras(version: string, isFormer: boolean): object[] {
  const only = isFormer ? "former" : "latter";
  const metadata = (name: string) => ({ name, namespace: NAMESPACE });
  const map = (name: string, data: object) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: metadata(name), data });
  const labels = { app: "changing" };
  const containers = [{ name: "c", image: "example.invalid/c", env: [{ name: only.toUpperCase(), value: "yes" }] }];
  return [
    map("config-changing", { both: version, [only]: "yes" }),
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { ...metadata("changing"), labels: { [only]: "yes" } },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
    },
    ...(isFormer
      ? [
          map("config-former", { a: "b" }),
          { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "former" }, rules: [] },
        ]
      : []),
  ];
}

interface Standing {
  readonly uid: string;
  /** Not that of definitions, which is long. */
  readonly spec?: unknown;
}

/** By resource and name, all that carries the label of Serving, and all its Pods and ReplicaSets. */
async function standing(client: Client): Promise<Record<string, Standing>> {
  const found: Record<string, Standing> = {};
  for (const { path, plural } of await listable(client)) {
    const isOfDeployments = plural === "pods" || plural === "replicasets";
    const query = isOfDeployments ? "" : `?labelSelector=${encodeURIComponent(`app.kubernetes.io/name=${NAMESPACE}`)}`;
    const { items } = JSON.parse(await client.raw(`${path}/${plural}${query}`)) as { items: (KubeObject & Standing)[] };
    for (const { metadata, spec } of items) {
      const { name, namespace = "", uid = "" } = metadata;
      if (isOfDeployments && namespace !== NAMESPACE) continue;
      found[`${plural}/${namespace}/${name}`] = { uid, ...(plural !== "customresourcedefinitions" && { spec }) };
    }
  }
  return found;
}

async function listable(client: Client): Promise<{ path: string; plural: string }[]> {
  const { groups } = JSON.parse(await client.raw("/apis")) as {
    groups: { preferredVersion: { groupVersion: string } }[];
  };
  const paths = ["/api/v1", ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const lists = await Promise.all(
    paths.map(async (path) => {
      const { resources } = JSON.parse(await client.raw(path).catch(unlessGone)) as {
        resources: { name: string; verbs: string[] }[];
      };
      return resources.filter(({ verbs }) => verbs.includes("list")).map(({ name }) => ({ path, plural: name }));
    }),
  );
  return lists.flat();
}

/** A group may go between two questions. */
function unlessGone(error: unknown): string {
  if (!isNotFound(error)) throw error;
  return `{"resources":[]}`;
}

/** What the condition Ready says from now on. */
async function readiness(hub: Client): Promise<{ stop(): readonly string[] }> {
  const stopping = new AbortController();
  const said: string[] = [];
  const events = await hub.watch(KnativeServing, { namespace: NAMESPACE, signal: stopping.signal });
  const watching = (async () => {
    for await (const { type, object } of events) {
      if (type === "BOOKMARK") continue;
      const { status = "", reason, message } = findCondition(object.status?.conditions, "Ready") ?? {};
      said.push(status === "True" ? status : `${status} (${reason}: ${message})`);
    }
  })();
  watching.catch(() => {});
  return {
    stop() {
      stopping.abort();
      return said;
    },
  };
}
