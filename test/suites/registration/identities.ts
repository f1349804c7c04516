/** Who is let in, who renews, and what is left to whom was put out again. */
import { describe, expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { Namespace } from "#api/core";
import type { Kind, KubeObject } from "#api/meta";
import { ClusterRole, ClusterRoleBinding, RoleBinding } from "#api/rbac";
import { ManifestWork } from "#api/work";
import { type Client, isForbidden, isKubeError } from "#kube";
import { createCertificateRequest, generateKeyPair } from "#lib/pki";
import { eventually } from "../../support/eventually.ts";
import { type Asked, COMMON, type HubStage, PREFIX, WORK_FINALIZER } from "./stage.ts";

export interface ServerTraits {
  /** Whether a watch that is open ends when the right to it is taken away. kube-apiserver asks only at its beginning. */
  readonly endsWatches: boolean;
}

export function identityCases(at: () => HubStage, { endsWatches }: ServerTraits): void {
  const name = "identities-1";
  const user = `${PREFIX}${name}:abcde`;
  const other = "identities-10";

  describe("a cluster that is accepted", () => {
    it("has a namespace, rights of its own, both finalizers and the condition", async () => {
      const { client } = at();
      await at().joined(name);
      await at().joined(other);
      const { metadata } = await at().cluster(name);
      await eventually(async () =>
        expect((await at().cluster(name)).metadata.finalizers?.toSorted()).toEqual([
          "cluster.open-cluster-management.io/api-resource-cleanup",
          "cluster.open-cluster-management.io/resource-cleanup",
        ]),
      );
      expect(await at().condition(name, "HubAcceptedManagedCluster")).toMatchObject({
        reason: "HubClusterAdminAccepted",
        message: "Accepted by hub cluster admin",
      });
      const own = `open-cluster-management:managedcluster:${metadata.name}`;
      expect((await client.get(Namespace, name)).metadata.labels).toMatchObject({
        "open-cluster-management.io/cluster-name": name,
      });
      for (const [kind, key] of [
        [ClusterRole, own],
        [ClusterRoleBinding, own],
        [RoleBinding, `${name}/${own}:registration`],
        [RoleBinding, `${name}/${own}:work`],
      ] as [Kind<KubeObject>, string][]) {
        expect(await at().isThere(kind, key), key).toBe(true);
      }
      expect((await client.get(RoleBinding, `${name}/${own}:work`)).metadata.finalizers).toEqual([WORK_FINALIZER]);
      for (const role of ["registration", "work"]) {
        const { metadata: common } = await client.get(ClusterRole, `open-cluster-management:managedcluster:${role}`);
        expect(common.labels).toMatchObject({ "open-cluster-management.io/cluster-name": "" });
      }
    });

    it("is nobody before a person says so, whoever else created it", async () => {
      const registrar = await at().registrar();
      await registrar.create(ManagedCluster, { metadata: { name: "identities-waiting" } });
      const request = await at().request(registrar, {
        cluster: "identities-waiting",
        user: `${PREFIX}identities-waiting:a`,
      });
      await at().untilCondition(name, "HubAcceptedManagedCluster", { status: "True" });
      // The hub has seen both when it has done something about a later one.
      await letInByTrusted(at(), "identities-marker");
      expect(await at().decision(request)).toBeUndefined();
      expect((await at().cluster("identities-waiting")).spec?.hubAcceptsClient ?? false).toBe(false);
      await at().client.delete(ManagedCluster, "identities-waiting");
      await at().untilGone(ManagedCluster, "identities-waiting");
    });
  });

  describe("a request for a certificate", () => {
    const ofOther = () =>
      createCertificateRequest({
        subject: { commonName: `${PREFIX}${other}:abcde`, organizations: [`${PREFIX}${other}`, COMMON] },
        key: generateKeyPair().privateKey,
      });
    const attacks: [string, Partial<Asked>][] = [
      ["a group that begins alike", { groups: [`${PREFIX}${other}`, COMMON] }],
      [
        "name and group that agree on another cluster",
        { user: `${PREFIX}${other}:abcde`, groups: [`${PREFIX}${other}`, COMMON] },
      ],
      ["the user of another cluster", { user: `${PREFIX}${other}:abcde` }],
      ["the label of another cluster", { label: other }],
      ["another agent's name", { user: `${PREFIX}${name}:other` }],
      ["an agent's name with a colon", { user: `${user}:addon:x` }],
      ["a further group", { groups: [`${PREFIX}${name}`, COMMON, `${PREFIX}${other}`] }],
      ["the group of the administrators of this very hub", { groups: [`${PREFIX}${name}`, COMMON, "fleet-admins"] }],
      ["the common group alone", { groups: [COMMON] }],
      ["a usage that serves", { usages: ["digital signature", "client auth", "server auth"] }],
      ["the name of a host", { more: { dnsNames: ["hub.example.com"] } }],
      ["an address", { more: { ipAddresses: ["127.0.0.1"] } }],
      ["a URI", { more: { uris: ["spiffe://example.com/x"] } }],
      ["a mailbox", { more: { emails: ["a@example.com"] } }],
      ["the signer of nodes", { signer: "kubernetes.io/kube-apiserver-client-kubelet" }],
      // The server's signer skips a block that does not begin its line, and signs the next.
      ["to be somebody else in a second request behind its own", { disguise: (own) => `x${own}${ofOther()}` }],
      ["to be somebody else in a second request before its own", { disguise: (own) => ofOther() + own }],
      ["twice in one text", { disguise: (own) => own + own }],
    ];

    it("is approved when an agent renews what it is, and never when it asks to be anything else", async () => {
      const agent = await at().agent(name);
      const asked: [string, string][] = [];
      for (const [what, changes] of attacks) {
        const request = await at()
          .request(agent, { cluster: name, user, ...changes })
          .catch((error: unknown) => {
            if (isKubeError(error) && error.code === 422) return undefined; // a server that reads it more closely does not even take it
            throw error;
          });
        if (request !== undefined) asked.push([what, request]);
      }
      const renewal = await at().request(agent, { cluster: name, user });
      await eventually(async () => expect(await at().decision(renewal)).toBe("Approved"));
      for (const [what, request] of asked) expect(await at().decision(request), what).toBeUndefined();
    });

    it("is not approved when the agent of another cluster or an administrator asks in its place", async () => {
      const stranger = await at().agent(other);
      const byStranger = await at().request(stranger, { cluster: name, user });
      const byAdmin = await at().request(at().client, { cluster: name, user });
      const renewal = await at().request(stranger, { cluster: other, user: `${PREFIX}${other}:abcde` });
      await eventually(async () => expect(await at().decision(renewal)).toBe("Approved"));
      expect([await at().decision(byStranger), await at().decision(byAdmin)]).toEqual([undefined, undefined]);
    });
  });

  describe("a cluster that one of the trusted registers", () => {
    it("is let in without a person, and so is its first request, and no other cluster", async () => {
      await letInByTrusted(at(), "identities-auto");
      expect((await at().cluster("identities-auto")).metadata.annotations).toHaveProperty([
        "open-cluster-management.io/automatically-accepted-on",
      ]);
    });

    it("stays out when a person put it out afterwards, whatever the trusted ask for", async () => {
      await at().client.patch(ManagedCluster, "identities-auto", { spec: { hubAcceptsClient: false } });
      await at().untilCondition("identities-auto", "HubAcceptedManagedCluster", { status: "False" });
      const trusted = await at().trusted();
      const request = await at().request(trusted, { cluster: "identities-auto", user: `${PREFIX}identities-auto:b` });
      await letInByTrusted(at(), "identities-auto-2");
      expect(await at().decision(request)).toBeUndefined();
      expect((await at().cluster("identities-auto")).spec?.hubAcceptsClient).toBe(false);
    });

    it("gets no second identity without a person once it has joined", async () => {
      await at().report("identities-auto-2", { ManagedClusterJoined: "True" });
      const trusted = await at().trusted();
      const request = await at().request(trusted, {
        cluster: "identities-auto-2",
        user: `${PREFIX}identities-auto-2:second`,
      });
      await letInByTrusted(at(), "identities-auto-3");
      expect(await at().decision(request)).toBeUndefined();
    });
  });

  describe("a cluster that is denied", () => {
    const denied = "identities-denied";
    const own = `open-cluster-management:managedcluster:${denied}`;

    it(`may only look at its own entry, has nothing to renew, and ${
      endsWatches ? "loses its open watches within seconds" : "can open no watch any more"
    }, works or not`, async () => {
      await at().joined(denied);
      await at().work(denied, "w");
      const agent = await at().agent(denied);
      await eventually(async () => agent.update(ManagedCluster, await agent.get(ManagedCluster, denied)));
      const works = await openWatch(agent, ManifestWork, denied);
      const leases = await openWatch(agent, Lease, denied);
      await at().client.patch(ManagedCluster, denied, { spec: { hubAcceptsClient: false } });
      await at().untilCondition(denied, "HubAcceptedManagedCluster", {
        status: "False",
        reason: "HubClusterAdminDenied",
      });

      if (endsWatches) await Promise.all([works.ended, leases.ended]);
      works.close();
      leases.close();
      await eventually(() => expect(agent.list(ManifestWork, { namespace: denied })).rejects.toSatisfy(isForbidden));
      await eventually(() => expect(agent.watch(Lease, { namespace: denied })).rejects.toSatisfy(isForbidden));
      const entry = await agent.get(ManagedCluster, denied);
      await eventually(() => expect(agent.update(ManagedCluster, entry)).rejects.toSatisfy(isForbidden));
      const asked = { cluster: denied, user: `${PREFIX}${denied}:abcde` };
      await eventually(() => expect(at().request(agent, asked)).rejects.toSatisfy(isForbidden));
    });

    it("stays denied when somebody gives its rights back", async () => {
      const { metadata, roleRef, subjects } = await at().client.get(
        RoleBinding,
        `${other}/open-cluster-management:managedcluster:${other}:registration`,
      );
      const name = `${own}:registration`;
      const labels = { ...metadata.labels, "open-cluster-management.io/cluster-name": denied };
      await at().client.create(RoleBinding, {
        metadata: { name, namespace: denied, labels },
        roleRef,
        ...(subjects && { subjects }),
      });
      await at().untilGone(RoleBinding, `${denied}/${name}`);
      const { rules = [] } = await at().client.get(ClusterRole, own);
      expect(rules.flatMap(({ verbs }) => verbs)).toEqual(["get", "list", "watch"]);
    });

    it("gets everything back when it is accepted again", async () => {
      await at().client.patch(ManagedCluster, denied, { spec: { hubAcceptsClient: true } });
      await at().untilCondition(denied, "HubAcceptedManagedCluster", { status: "True" });
      await eventually(async () => expect(await at().isThere(RoleBinding, `${denied}/${own}:work`)).toBe(true));
    });
  });
}

/** A cluster that comes in by itself; when it is in, the hub has seen all that was written before. */
async function letInByTrusted(stage: HubStage, name: string): Promise<void> {
  const trusted = await stage.trusted();
  await trusted.create(ManagedCluster, { metadata: { name } });
  const request = await stage.request(trusted, { cluster: name, user: `${PREFIX}${name}:abcde` });
  await eventually(async () => expect(await stage.decision(request)).toBe("Approved"));
  await stage.untilCondition(name, "HubAcceptedManagedCluster", { status: "True" });
}

interface OpenWatch {
  readonly ended: Promise<void>;
  close(): void;
}

async function openWatch<T extends KubeObject>(client: Client, kind: Kind<T>, namespace: string): Promise<OpenWatch> {
  const stop = new AbortController();
  const events = await eventually(() => client.watch(kind, { namespace, signal: stop.signal }));
  const ended = (async () => {
    try {
      for await (const _ of events);
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
  })();
  return { ended, close: () => stop.abort() };
}
