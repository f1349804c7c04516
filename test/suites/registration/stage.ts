/**
 * A hub whose clusters have no agents: the tests say what an agent would, with the identity that it would have. So all
 * states of a cluster can be had at once, and what is proven is the hub's part alone.
 */

import { expect } from "vitest";
import { CertificateSigningRequest } from "#api/certificates";
import { ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { Namespace, ServiceAccount } from "#api/core";
import type { Condition, Kind, KubeObject } from "#api/meta";
import { ClusterRole, ClusterRoleBinding, RBAC_GROUP } from "#api/rbac";
import { ManifestWork, manifestWorkCrd } from "#api/work";
import { type HubOptions, runHub } from "#app";

import { Bootstrap } from "#features/registration/hub";
import { type Client, connectionOf, createClient, isNotFound, kubeconfigFor } from "#kube";
import { microTimestamp, systemClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { createCertificateRequest, generateKeyPair, type RequestDraft } from "#lib/pki";
import { registrationRights } from "../../../src/features/operator/cluster-manager/rights.ts";
import { accountToken } from "../../support/account-token.ts";
import { eventually } from "../../support/eventually.ts";
import { installDefinitions, prepareHub } from "../../support/prepared.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";

export const PREFIX = "system:open-cluster-management:";
export const COMMON = `${PREFIX}managed-clusters`;
export const NAME_LABEL = "open-cluster-management.io/cluster-name";
export const WORK_FINALIZER = "cluster.open-cluster-management.io/manifest-work-cleanup";
export const LEDGER = "capstan-detach-ledger";

/** Whose clusters come in without a person. */
const TRUSTED = { namespace: Bootstrap.namespace, name: "trusted-registrar" };
const TRUSTED_USER = `system:serviceaccount:${TRUSTED.namespace}:${TRUSTED.name}`;

/** Long enough to see that it is waited for, short enough for a test. */
const PATIENCE = 2_000;

export type Running = Pick<HubOptions, "gates" | "detachPatience">;

export class HubStage {
  readonly hub: TestServer;
  readonly #clients: Client[] = [];
  #asHub: Client | undefined;
  #stop = new AbortController();
  #ended: Promise<void> = Promise.resolve();

  private constructor(hub: TestServer) {
    this.hub = hub;
  }

  static async open(start: StartServer): Promise<HubStage> {
    const stage = new HubStage(await start("hub"));
    await prepareHub(stage.hub.client);
    await installDefinitions(stage.hub.client, [manifestWorkCrd]);
    await stage.client.create(ServiceAccount, { metadata: TRUSTED });
    await stage.client.create(ClusterRoleBinding, {
      metadata: { name: "trusted-registrar" },
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: Bootstrap.clusterRole },
      subjects: [{ kind: "ServiceAccount", ...TRUSTED }],
    });
    await stage.#grantHub();
    stage.startHub();
    return stage;
  }

  get client(): Client {
    return this.hub.client;
  }

  startHub(options: Running = {}): void {
    this.#stop = new AbortController();
    this.#ended = runHub({
      client: this.#asHub ?? this.client,
      clock: systemClock,
      log: silentLog,
      signal: this.#stop.signal,
      autoApproveUsers: [TRUSTED_USER],
      detachPatience: PATIENCE,
      ...options,
    });
  }

  async stopHub(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async close(): Promise<void> {
    await this.stopHub();
    for (const client of this.#clients) client.close();
    await this.hub.close();
  }

  cluster(name: string): Promise<ManagedCluster> {
    return this.client.get(ManagedCluster, name);
  }

  async condition(name: string, type: string): Promise<Condition | undefined> {
    return findCondition((await this.cluster(name)).status?.conditions, type);
  }

  async untilCondition(name: string, type: string, wished: Partial<Condition>): Promise<void> {
    await eventually(async () => expect(await this.condition(name, type)).toMatchObject(wished));
  }

  /** A cluster that a person let in. */
  async accepted(name: string, spec: ManagedCluster["spec"] = {}): Promise<void> {
    await this.client.create(ManagedCluster, { metadata: { name }, spec: { ...spec, hubAcceptsClient: true } });
    await this.untilCondition(name, "HubAcceptedManagedCluster", { status: "True" });
    await eventually(() => this.client.get(Lease, `${name}/managed-cluster-lease`));
  }

  /** One whose agent has said that it joined and is well. */
  async joined(name: string, spec: ManagedCluster["spec"] = {}): Promise<void> {
    await this.accepted(name, spec);
    await this.report(name, { ManagedClusterJoined: "True", ManagedClusterConditionAvailable: "True" });
  }

  /** What the agent says of itself; conditions that it does not name stay. */
  async report(
    name: string,
    said: Readonly<Record<string, Condition["status"]>>,
    more: ManagedCluster["status"] = {},
  ): Promise<void> {
    await eventually(async () => {
      const { metadata, status } = await this.cluster(name);
      const { resourceVersion } = metadata;
      const others = (status?.conditions ?? []).filter(({ type }) => said[type] === undefined);
      const lastTransitionTime = new Date().toISOString();
      const own = Object.entries(said).map(([type, value]) => ({
        type,
        status: value,
        reason: "Test",
        message: "",
        lastTransitionTime,
      }));
      const conditions = [...others, ...own];
      const patch = { metadata: { resourceVersion }, status: { ...more, conditions } };
      await this.client.patch(ManagedCluster, name, patch, { subresource: "status" });
    });
  }

  /** A heartbeat, as told by a clock that is off by so many milliseconds. */
  async beat(name: string, offMs = 0): Promise<void> {
    const renewTime = microTimestamp(new Date(Date.now() + offMs));
    await this.client.patch(Lease, `${name}/managed-cluster-lease`, { spec: { renewTime } });
  }

  /** A work that an agent has begun with, or one that it has not seen. */
  async work(namespace: string, name: string, { applied = true, priority = "0" } = {}): Promise<void> {
    await this.client.create(ManifestWork, {
      metadata: {
        name,
        namespace,
        annotations: { "open-cluster-management.io/cleanup-priority": priority },
        ...(applied && { finalizers: [WORK_FINALIZER] }),
      },
      spec: { workload: { manifests: [] } },
    });
  }

  /** What an agent does when it has removed what was applied for a work. */
  async cleaned(namespace: string, name: string): Promise<void> {
    await this.client.patch(ManifestWork, `${namespace}/${name}`, { metadata: { finalizers: null } });
  }

  async works(namespace: string): Promise<string[]> {
    const { items } = await this.client.list(ManifestWork, { namespace });
    return items.map(({ metadata }) => `${metadata.name}${metadata.deletionTimestamp ? " going" : ""}`).sort();
  }

  async namespace(name: string): Promise<void> {
    await this.client.create(Namespace, { metadata: { name } });
  }

  async untilGone<T extends KubeObject>(kind: Kind<T>, key: string): Promise<void> {
    await eventually(async () => expect(await this.isThere(kind, key)).toBe(false));
  }

  async isThere<T extends KubeObject>(kind: Kind<T>, key: string): Promise<boolean> {
    try {
      await this.client.get(kind, key);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** The client of an agent of the cluster, with a certificate that an administrator approved. */
  async agent(cluster: string, agent = "abcde"): Promise<Client> {
    const { privateKey: key } = generateKeyPair();
    const name = await this.request(this.client, { cluster, user: `${PREFIX}${cluster}:${agent}`, key });
    const asked = await this.client.get(CertificateSigningRequest, name);
    const conditions = [{ type: "Approved", status: "True", reason: "Test", message: "" } as const];
    await this.client.update(
      CertificateSigningRequest,
      { ...asked, status: { conditions } },
      { subresource: "approval" },
    );
    const cert = await eventually(async () => {
      const { status } = await this.client.get(CertificateSigningRequest, name);
      expect(status?.certificate).toBeDefined();
      return Buffer.from(status?.certificate ?? "", "base64").toString();
    });
    return this.#connected({ cert, key });
  }

  /** The one whose clusters come in without a person. */
  async trusted(): Promise<Client> {
    return this.#connected({ token: await accountToken(this.hub, `${TRUSTED.namespace}/${TRUSTED.name}`) });
  }

  /** Anybody with the usual bootstrap token, whose clusters wait for a person. */
  async registrar(): Promise<Client> {
    return this.#connected({
      token: await accountToken(this.hub, `${Bootstrap.namespace}/${Bootstrap.serviceAccount}`),
    });
  }

  /** Asks for a certificate; the answer is the request's name. */
  async request(as: Client, asked: Asked): Promise<string> {
    const { cluster, user, groups = [`${PREFIX}${cluster}`, COMMON], label = cluster, more = {} } = asked;
    const pem = createCertificateRequest({
      subject: { commonName: user, organizations: groups },
      ...more,
      key: asked.key ?? generateKeyPair().privateKey,
    });
    const { metadata } = await as.create(CertificateSigningRequest, {
      metadata: { generateName: `${cluster}-`, labels: { [NAME_LABEL]: label } },
      spec: {
        request: Buffer.from(asked.disguise?.(pem) ?? pem).toString("base64"),
        signerName: asked.signer ?? "kubernetes.io/kube-apiserver-client",
        usages: asked.usages ?? ["digital signature", "key encipherment", "client auth"],
      },
    });
    return metadata.name;
  }

  /** `Approved` or what else was decided; nothing while it waits. */
  async decision(request: string): Promise<string | undefined> {
    return (await this.client.get(CertificateSigningRequest, request)).status?.conditions?.[0]?.type;
  }

  /** The hub has the rights that an operator gives it, and no more: what it does here, it can do everywhere. */
  async #grantHub(): Promise<void> {
    const account = { name: "registration-controller-sa", namespace: Bootstrap.namespace };
    const name = "registration-controller";
    const rules = registrationRights({ inventory: true, cleanup: true, finished: false });
    await this.client.create(ServiceAccount, { metadata: account });
    await this.client.create(ClusterRole, { metadata: { name }, rules });
    await this.client.create(ClusterRoleBinding, {
      metadata: { name },
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", ...account }],
    });
    this.#asHub = await this.#connected({
      token: await accountToken(this.hub, `${account.namespace}/${account.name}`),
    });
  }

  async #connected(credentials: { cert: string; key: string } | { token: string }): Promise<Client> {
    const { url: server, authority: ca } = this.hub;
    const client = createClient({
      connection: await connectionOf(kubeconfigFor({ name: "hub", server, ca, ...credentials })),
    });
    this.#clients.push(client);
    return client;
  }
}

export interface Asked {
  readonly cluster: string;
  readonly user: string;
  readonly groups?: string[];
  readonly label?: string;
  readonly signer?: string;
  readonly usages?: string[];
  readonly key?: string;
  /** Further names in the request. */
  readonly more?: Partial<Pick<RequestDraft, "dnsNames" | "ipAddresses" | "emails" | "uris">>;
  /** What is sent in place of the request. */
  readonly disguise?: (own: string) => string;
}
