import { describe, expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { Namespace, Secret } from "#api/core";
import { Role, RoleBinding } from "#api/rbac";
import { type FakeCluster, fakeCluster, runUntilQuiet } from "../../../../test/support/index.ts";
import { accessController } from "./access.controller.ts";

const ROLE = "c1/open-cluster-management:cluster-access";
const SECRET = "c1/capstan-cluster-access";
const LABEL = "open-cluster-management.io/cluster-name";
const GRANT = { "access.capstan.dev/cluster-role": "cluster-admin" };
const namespace = { metadata: { name: "c1", labels: { [LABEL]: "c1" } } };

function cluster(metadata: Partial<ManagedCluster["metadata"]> = {}, hubAcceptsClient = true) {
  return { metadata: { name: "c1", annotations: GRANT, ...metadata }, spec: { hubAcceptsClient } };
}

const run = (hub: FakeCluster) => runUntilQuiet(accessController({ hub }));

/** What there is of a cluster's access, by kind. */
function room(hub: FakeCluster): string[] {
  return [Secret, Role, RoleBinding].flatMap((kind) => hub.readAll(kind)).map(({ kind }) => kind);
}

const ALL = ["Secret", "Role", "RoleBinding"];

async function granted(): Promise<FakeCluster> {
  const hub = fakeCluster([ManagedCluster, cluster()], [Namespace, namespace]);
  await run(hub);
  expect(room(hub)).toEqual(ALL);
  return hub;
}

describe("an accepted cluster that grants access", () => {
  it("gets an empty Secret, and its agents the right to this one and no other", async () => {
    const hub = await granted();
    expect(hub.read(Secret, SECRET)).toMatchObject({ metadata: { labels: { [LABEL]: "c1" } } });
    expect(hub.read(Secret, SECRET)?.data).toBeUndefined();
    expect(hub.read(Role, ROLE)?.rules).toEqual([
      {
        apiGroups: [""],
        resources: ["secrets"],
        resourceNames: ["capstan-cluster-access"],
        verbs: ["get", "list", "watch", "update"],
      },
    ]);
    expect(hub.read(RoleBinding, ROLE)).toMatchObject({
      roleRef: { kind: "Role", name: "open-cluster-management:cluster-access" },
      subjects: [
        { kind: "Group", name: "system:open-cluster-management:c1" },
        { kind: "Group", name: "open-cluster-management:c1" },
      ],
    });
  });

  it("costs no write the second time, and what the agent put into the Secret stays", async () => {
    const hub = await granted();
    hub.put(Secret, {
      metadata: { name: "capstan-cluster-access", namespace: "c1", labels: { [LABEL]: "c1" } },
      data: { token: "dA==" },
    });
    hub.writes.length = 0;
    await run(hub);
    expect(hub.writes).toEqual([]);
    expect(hub.read(Secret, SECRET)?.data).toEqual({ token: "dA==" });
  });

  it("gets back what somebody took or widened", async () => {
    const hub = await granted();
    hub.drop(Secret, SECRET);
    hub.put(Role, {
      metadata: { name: "open-cluster-management:cluster-access", namespace: "c1" },
      rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["*"] }],
    });
    await run(hub);
    expect(room(hub)).toEqual(ALL);
    expect(hub.read(Role, ROLE)?.rules).toMatchObject([{ resourceNames: ["capstan-cluster-access"] }]);
  });

  it("has its Secret seen without its label, because the agent may write labels too", async () => {
    const hub = await granted();
    hub.put(Secret, { metadata: { name: "capstan-cluster-access", namespace: "c1" } });
    hub.put(ManagedCluster, cluster({ annotations: {} }));
    await run(hub);
    expect(room(hub)).toEqual([]);
  });

  it("waits for its namespace", async () => {
    const hub = fakeCluster([ManagedCluster, cluster()]);
    await run(hub);
    expect(hub.writes).toEqual([]);
  });
});

describe("access ends", () => {
  it.each<[string, (hub: FakeCluster) => void]>([
    ["its agent withdraws it", (hub) => hub.put(ManagedCluster, cluster({ annotations: {} }))],
    ["the hub denies the cluster", (hub) => hub.put(ManagedCluster, cluster({}, false))],
    ["the cluster is removed", (hub) => hub.drop(ManagedCluster, "c1")],
    [
      "the cluster is being removed",
      (hub) => hub.put(ManagedCluster, cluster({ deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x/y"] })),
    ],
  ])("when %s: Secret and rights go, the rights first", async (_, end) => {
    const hub = await granted();
    end(hub);
    hub.writes.length = 0;
    await run(hub);
    expect(room(hub)).toEqual([]);
    expect(hub.writes.map(({ verb, kind }) => `${verb} ${kind}`)).toEqual([
      "delete RoleBinding",
      "delete Role",
      "delete Secret",
    ]);
    hub.writes.length = 0;
    await run(hub);
    expect(hub.writes).toEqual([]);
  });
});

describe("a cluster without access", () => {
  it.each([
    ["does not grant it", cluster({ annotations: {} })],
    ["is not accepted", cluster({}, false)],
    ["has a name that none may have", cluster({ name: "work" })],
  ])("gets nothing when it %s", async (_, given) => {
    const home = { metadata: { name: given.metadata.name } };
    const hub = fakeCluster([ManagedCluster, given], [Namespace, home]);
    await run(hub);
    expect(hub.writes).toEqual([]);
  });
});
