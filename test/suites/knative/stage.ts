/** A hub that runs the Knative operator, a spoke that it reaches through its ClusterProfile, and what tests ask of them. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import type { TokenRequest } from "#api/authentication";
import { Namespace, ServiceAccount } from "#api/core";
import { ClusterProfile } from "#api/inventory";
import { KnativeEventing, KnativeServing, knativeEventingCrd, knativeServingCrd } from "#api/knative";
import { knativeParts } from "#app";
import { tokenAccessProvider } from "#features/inventory";
import { directorySource, type ReleaseSource } from "#features/knative";
import { type Client, type Connection, connectionOf, createClient, isNotFound } from "#kube";
import { systemClock, timestamp } from "#lib/clock";
import { silentLog } from "#lib/log";
import { connectedCluster, runControllers } from "#runtime";
import { eventually } from "../../support/eventually.ts";
import { FLEET, type InventoryStage, inventoryStage, SECRETS, SPOKE } from "../../support/inventory.ts";
import type { StartServer } from "../../support/servers.ts";

export const RELEASES = fileURLToPath(new URL("../../../../shared/upstream/knative", import.meta.url));
export const REF = { namespace: FLEET, name: SPOKE };
const PROVIDER = "token-secretreader";

/** Why the releases of Knative cannot be used here. */
export function missingReleases(): string | undefined {
  if (existsSync(RELEASES)) return undefined;
  const why = `${RELEASES} is missing`;
  if (process.env.CAPSTAN_REQUIRE?.split(",").includes("shared")) throw new Error(why);
  return why;
}

/** A running operator. */
export interface Operator {
  stop(): Promise<void>;
}

export interface OperatorOptions {
  /** That of the stage unless told; empty for none. */
  readonly providerFile?: string;
  /** Upstream's unless told. */
  readonly releases?: ReleaseSource;
  /** The service account that it is; the administrator unless told. */
  readonly as?: string;
  readonly removalPatience?: number;
}

export class KnativeStage {
  readonly inventory: InventoryStage;
  readonly hub: Client;
  readonly spoke: Client;
  readonly providerFile: string;

  private constructor(inventory: InventoryStage, providerFile: string) {
    this.inventory = inventory;
    this.hub = inventory.hub.client;
    this.spoke = inventory.spoke.client;
    this.providerFile = providerFile;
  }

  static async open(start: StartServer): Promise<KnativeStage> {
    const inventory = await inventoryStage((name) => start(name, { nodes: { count: 1 } }));
    const file = { providers: [{ name: PROVIDER, builtin: PROVIDER }] };
    const stage = new KnativeStage(inventory, await inventory.file("providers.json", JSON.stringify(file)));
    for (const crd of [knativeServingCrd, knativeEventingCrd]) await stage.hub.create(CustomResourceDefinition, crd);
    for (const name of ["knative-serving", "knative-eventing"])
      await stage.hub.create(Namespace, { metadata: { name } });
    await stage.offer();
    await stage.sayHealthy("True");
    return stage;
  }

  async start(options: OperatorOptions = {}): Promise<Operator> {
    const stopping = new AbortController();
    const client = createClient({ connection: await this.#connection(options.as) });
    const hub = connectedCluster({ name: "hub", client, clock: systemClock, log: silentLog });
    const { signal } = stopping;
    const parts = await knativeParts({
      hub,
      providerFile: options.providerFile ?? this.providerFile,
      releases: options.releases ?? directorySource(RELEASES),
      ...(options.removalPatience !== undefined && { removalPatience: options.removalPatience }),
      clock: systemClock,
      log: silentLog,
      signal,
    });
    const { controllers, fleet } = parts;
    const members = fleet.run(signal);
    const ended = runControllers({ controllers: [...controllers], fleet, clock: systemClock, log: silentLog, signal });
    return {
      async stop() {
        stopping.abort();
        await Promise.all([members, ended]);
        parts.close();
        client.close();
      },
    };
  }

  async #connection(account: string | undefined): Promise<Connection> {
    const { cert: _, key: __, ...connection } = await connectionOf(this.inventory.hub.kubeconfig);
    if (account === undefined) return connectionOf(this.inventory.hub.kubeconfig);
    const body = { metadata: {}, spec: { expirationSeconds: 3600 } };
    const { status } = await this.hub.createSub<TokenRequest, ServiceAccount>(ServiceAccount, account, "token", body);
    return { ...connection, token: status?.token ?? "" };
  }

  /** Makes the profile lead to the spoke, or to where somebody else listens. */
  async offer(server = this.inventory.spoke.url): Promise<void> {
    const { authority } = this.inventory.spoke;
    const secret = { secretNamespace: SECRETS, secretName: SPOKE, key: "token" };
    await this.inventory.offer(tokenAccessProvider({ server, authority, ...secret }));
  }

  async sayHealthy(status: "True" | "False"): Promise<void> {
    const now = timestamp(new Date());
    const condition = { type: "ControlPlaneHealthy", status, reason: "Test", message: "", lastTransitionTime: now };
    await this.hub.patch(
      ClusterProfile,
      `${FLEET}/${SPOKE}`,
      { status: { conditions: [condition] } },
      { subresource: "status" },
    );
  }

  async serving(name: string): Promise<KnativeServing> {
    return this.hub.get(KnativeServing, `knative-serving/${name}`);
  }

  async eventing(name: string): Promise<KnativeEventing> {
    return this.hub.get(KnativeEventing, `knative-eventing/${name}`);
  }

  async close(): Promise<void> {
    await this.inventory.close();
  }
}

/** Whether all is well, or what the conditions say. */
export async function untilReady(look: () => Promise<KnativeServing | KnativeEventing>): Promise<void> {
  await eventually(async () => {
    const { status } = await look();
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
  });
}

export async function untilGone(look: () => Promise<unknown>): Promise<void> {
  await eventually(async () => {
    const error = await look().then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(error !== undefined && isNotFound(error)).toBe(true);
  });
}

export async function deploymentsIn(client: Client, namespace: string): Promise<string[]> {
  return (await client.list(Deployment, { namespace })).items.map(({ metadata }) => metadata.name).sort();
}
