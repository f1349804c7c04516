/**
 * What agents may do on a hub, and what they may not: the answers of a server compared with those of the specification,
 * for every identity, verb, resource and name that matters. `CAPSTAN_ISOLATION=whole` asks all of it.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SubjectAccessReview } from "#api/authorization";
import { Lease } from "#api/coordination";
import { ManifestWork } from "#api/work";
import { eventually } from "../../support/eventually.ts";
import { certified, type RawClient, rawClient } from "../../support/raw.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";
import { agentGroups, agentUser, IDENTITIES, type Identity } from "./identities.ts";
import { type Question, questions, sampled } from "./matrix.ts";
import { isAllowed, type Probe } from "./rights.ts";
import { isolationStage } from "./stage.ts";

const SEED = Number(process.env.CAPSTAN_SEED ?? 20261116);
/** Those that may wait are asked so many at a time. */
const IN_FLIGHT = 32;
const TOLD = 20;
/** All of them take five minutes on a quiet machine with a real server, and far more where others are at work. */
const PATIENCE_MS = 60 * 60_000;

/** Asks so many of the questions whose answer is no, and all whose answer is yes. */
export function isolationSuite(start: StartServer, { refusals }: { refusals: number }): void {
  const all = [...questions()];
  const isWhole = process.env.CAPSTAN_ISOLATION === "whole";
  const asked = isWhole ? all : sampled(all, refusals, SEED);
  let server: TestServer;
  let admin: RawClient;
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  beforeAll(async () => {
    server = await start("hub");
    admin = await rawClient(server);
    ({ running } = await isolationStage(server.client, stopping.signal));
    await settled(server, all);
  }, 180_000);
  afterAll(async () => {
    admin?.close();
    stopping.abort();
    await running;
    await server?.close();
  }, 60_000);

  it(
    `${asked.length} of ${all.length} questions have the answers of the specification (seed ${SEED})`,
    async () => {
      const wrong = await wronglyAnswered(server, asked);
      expect(wrong.slice(0, TOLD).map(sentenceOf)).toEqual([]);
      expect(wrong).toHaveLength(0);
    },
    PATIENCE_MS,
  );

  describe("requests", () => {
    it.each(["edge", "edge-open", "edge-denied", "edge-gone"])(
      "of the agent of %s are answered alike",
      async (name) => {
        const identity = IDENTITIES.find(({ cluster }) => cluster === name);
        if (!identity) throw new Error(`nobody is the agent of ${name}`);
        const agent = admin.as(await certified(admin, agentUser(name), agentGroups(name)));
        const differing: string[] = [];
        for (const probe of requestsAround(name)) {
          const { code } = await send(agent, probe);
          const isRefused = code === 403;
          if (isRefused === isAllowed(identity.rights, probe)) differing.push(`${sentence(identity, probe)}: ${code}`);
        }
        expect(differing).toEqual([]);
      },
    );

    it("of one cluster's agent reach none of another's works, whichever way they go", async () => {
      for (const namespace of ["edge", "edge-1"]) {
        const metadata = { name: "one", namespace };
        await server.client.create(ManifestWork, { metadata, spec: { workload: { manifests: [] } } });
      }
      const agent = admin.as(await certified(admin, agentUser("edge"), agentGroups("edge")));
      const works = "/apis/work.open-cluster-management.io/v1";
      expect((await agent.get(`${works}/namespaces/edge/manifestworks/one`)).code).toBe(200);
      const other = `${works}/namespaces/edge-1/manifestworks`;
      const status = { status: { conditions: [] } };
      const answers = await Promise.all([
        agent.get(`${other}/one`),
        agent.get(other),
        agent.get(`${other}?watch=true`),
        agent.get(`${other}?fieldSelector=metadata.name%3Done`),
        agent.get(`${works}/manifestworks`),
        agent.get(`${works}/manifestworks?fieldSelector=metadata.namespace%3Dedge`),
        agent.get(`${works}/namespaces/edge%2F..%2Fedge-1/manifestworks/one`),
        agent.post(other, { metadata: { name: "mine" }, spec: { workload: { manifests: [] } } }),
        agent.patch(`${other}/one`, { spec: { workload: { manifests: [{}] } } }),
        agent.patch(`${other}/one/status`, status),
        agent.patch(`${other}/one?fieldManager=x&force=true`, { metadata: { labels: { a: "b" } } }, "apply"),
        agent.delete(`${other}/one`),
        agent.delete(other),
      ]);
      expect(answers.map(({ code }) => code === 403 || code === 404)).not.toContain(false);
      expect(answers.map(({ text }) => text).join()).not.toContain('"workload"');
      const untouched = await server.client.get(ManifestWork, "edge-1/one");
      expect(untouched.metadata.generation).toBe(1);
      expect(untouched.metadata.labels ?? {}).toEqual({});
    });

    it("of an agent are its own: it can be nobody else", async () => {
      const agent = admin.as(await certified(admin, agentUser("edge"), agentGroups("edge")));
      const path = "/apis/cluster.open-cluster-management.io/v1/managedclusters/edge";
      expect((await agent.get(path)).code).toBe(200);
      const masks = [
        { "Impersonate-User": "admin" },
        { "Impersonate-User": agentUser("edge-1") },
        { "Impersonate-User": agentUser("edge"), "Impersonate-Group": "system:masters" },
        { "Impersonate-User": agentUser("edge"), "Impersonate-Uid": "1" },
      ];
      for (const headers of masks) expect((await agent.get(path, { headers })).code).toBe(403);
      const proxied = { "X-Remote-User": "admin", "X-Remote-Group": "system:masters" };
      expect((await agent.get("/api/v1/secrets", { headers: proxied })).code).toBe(403);
    });

    it("of an agent that lost its certificate's groups are a stranger's", async () => {
      const agent = admin.as(await certified(admin, agentUser("edge")));
      expect((await agent.get(`/apis/${Lease.group}/v1/namespaces/edge/leases/managed-cluster-lease`)).code).toBe(403);
    });
  });
}

/** Servers take in new rights a moment after they are written: every right that is expected must be there. */
async function settled(server: TestServer, all: readonly Question[]): Promise<void> {
  let left = all.filter(isAboutItself);
  await eventually(async () => {
    left = await wronglyAnswered(server, left); // those that are right by now are asked again with all others
    expect(left.map(sentenceOf)).toEqual([]);
  }, 120_000);
}

/** What changes with the state of a cluster. */
function isAboutItself({ identity, probe }: Question): boolean {
  const { cluster } = identity;
  return probe.namespace === cluster || (probe.name === cluster && probe.resource === "managedclusters");
}

async function wronglyAnswered(server: TestServer, asked: readonly Question[]): Promise<Question[]> {
  const client = server.inside ?? server.client;
  const wrong: Question[] = [];
  const waiting = asked.values();
  const worker = async () => {
    for (const question of waiting) {
      const { user, groups } = question.identity;
      const spec = { user, groups: [...groups], resourceAttributes: { ...question.probe, version: "*" } };
      const { status } = await client.create(SubjectAccessReview, { metadata: {}, spec });
      if (status?.allowed !== question.expected) wrong.push(question);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return wrong;
}

function sentenceOf({ identity, probe, expected }: Question): string {
  return `${sentence(identity, probe)} ${expected ? "no, but should" : "yes, but should not"}`;
}

function sentence({ name }: Identity, { verb, group, resource, subresource, namespace, name: object }: Probe): string {
  const what = [resource, subresource].filter(Boolean).join("/");
  const where = namespace === "" ? "" : ` in ${namespace}`;
  return `may ${name} ${verb} ${what}${group && `.${group}`}${object && ` ${object}`}${where}?`;
}

const VERSIONS: Readonly<Record<string, string>> = {
  "": "/api/v1",
  "coordination.k8s.io": "/apis/coordination.k8s.io/v1",
  "certificates.k8s.io": "/apis/certificates.k8s.io/v1",
  "rbac.authorization.k8s.io": "/apis/rbac.authorization.k8s.io/v1",
  "cluster.open-cluster-management.io": "/apis/cluster.open-cluster-management.io/v1",
  "work.open-cluster-management.io": "/apis/work.open-cluster-management.io/v1",
};

const REQUESTED = [
  ["", "secrets", "capstan-cluster-access"],
  ["", "secrets", "other"],
  ["", "configmaps", "capstan-detach-ledger"],
  ["coordination.k8s.io", "leases", "managed-cluster-lease"],
  ["work.open-cluster-management.io", "manifestworks", "nothing"],
  ["rbac.authorization.k8s.io", "rolebindings", "nothing"],
] as const;

/** Requests that change nothing, at home and at the neighbours'. */
function* requestsAround(cluster: string): Generator<Probe> {
  for (const namespace of [cluster, "edge-1", "kube-system"]) {
    for (const [group, resource, name] of REQUESTED) {
      const place = { group, resource, subresource: "", namespace };
      for (const verb of ["get", "update", "patch", "delete"]) yield { ...place, verb, name };
      for (const verb of ["list", "create", "deletecollection"]) yield { ...place, verb, name: "" };
    }
  }
  const clusters = { group: "cluster.open-cluster-management.io", resource: "managedclusters", namespace: "" };
  for (const name of [cluster, "edge-1"]) {
    for (const verb of ["get", "update", "patch", "delete"]) yield { ...clusters, subresource: "", verb, name };
    for (const verb of ["update", "patch"]) yield { ...clusters, subresource: "status", verb, name };
  }
  for (const verb of ["list", "create", "deletecollection"]) yield { ...clusters, subresource: "", verb, name: "" };
  const requests = {
    group: "certificates.k8s.io",
    resource: "certificatesigningrequests",
    namespace: "",
    subresource: "",
  };
  for (const verb of ["list", "deletecollection"]) yield { ...requests, verb, name: "" };
  for (const verb of ["get", "update", "patch", "delete"]) yield { ...requests, verb, name: "nothing" };
  for (const verb of ["update", "patch"]) yield { ...requests, subresource: "approval", verb, name: "nothing" };
}

const METHODS: Readonly<Record<string, string>> = {
  get: "GET",
  list: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETE",
};

function send(agent: RawClient, { verb, group, resource, subresource, namespace, name }: Probe) {
  const words = [namespace && `namespaces/${namespace}`, resource, name, subresource].filter(Boolean);
  const method = METHODS[verb] ?? "GET";
  const query = method === "GET" ? "" : "?dryRun=All";
  const path = `${VERSIONS[group] ?? ""}/${words.join("/")}${query}`;
  if (method === "GET" || method === "DELETE") return agent.request(method, path);
  // Whether it makes sense is asked after whether it is allowed.
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  return agent.request(method, path, { body: { metadata: { name } }, type });
}
