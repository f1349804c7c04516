/** A hub with an inventory and a spoke in it, for tests that go from one to the other. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CustomResourceDefinition } from "#api/apiextensions";
import { TokenRequest } from "#api/authentication";
import { Namespace, Secret, ServiceAccount } from "#api/core";
import { type AccessProvider, ClusterProfile, clusterProfileCrd } from "#api/inventory";
import { apiVersionOf } from "#api/meta";
import { ClusterRoleBinding, RBAC_GROUP } from "#api/rbac";
import { kubeconfigText } from "#kube";
import { eventually } from "./eventually.ts";
import { type StartServer, startEmbedded, type TestServer } from "./servers.ts";

/** The namespace of the profile, and that of the Secrets. */
export const FLEET = "fleet";
export const SECRETS = "spoke-manager";
export const SPOKE = "spoke-1";

const CONSUMER = { metadata: { name: "consumer", namespace: "default" } };

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface InventoryStage {
  readonly hub: TestServer;
  readonly spoke: TestServer;
  readonly dir: string;
  /** A kubeconfig of the hub whose namespace is that of the Secrets. */
  readonly hubKubeconfig: string;
  /** Makes a new token on the spoke, and puts it into the Secret on the hub that is called after the cluster. */
  rotateToken(): Promise<string>;
  /** Makes all tokens worthless that were made so far. */
  revokeTokens(): Promise<void>;
  /** Makes the profile offer these ways in, and nothing else. */
  offer(...accessProviders: AccessProvider[]): Promise<ClusterProfile>;
  /** A file in `dir`; the answer is its path. */
  file(name: string, content: string): Promise<string>;
  /** Runs a program in `dir`, in a home of its own. */
  run(program: string, args: readonly string[], env?: Record<string, string>): Promise<Outcome>;
  close(): Promise<void>;
}

export async function inventoryStage(start: StartServer = startEmbedded): Promise<InventoryStage> {
  const [hub, spoke, dir] = await Promise.all([
    start("hub"),
    start(SPOKE),
    mkdtemp(join(tmpdir(), "capstan-inventory-")),
  ]);
  await Promise.all([prepareHub(hub), prepareSpoke(spoke)]);
  const file = async (name: string, content: string) => {
    await writeFile(join(dir, name), content, { mode: 0o600 });
    return join(dir, name);
  };
  const stage: InventoryStage = {
    hub,
    spoke,
    dir,
    file,
    hubKubeconfig: await file("hub.kubeconfig", hubKubeconfigText(hub)),
    rotateToken: () => rotateToken(hub, spoke),
    async revokeTokens() {
      await spoke.client.delete(ServiceAccount, "default/consumer");
      await spoke.client.create(ServiceAccount, CONSUMER);
    },
    offer: (...accessProviders) =>
      hub.client.patch(ClusterProfile, `${FLEET}/${SPOKE}`, { status: { accessProviders } }, { subresource: "status" }),
    run: (program, args, env = {}) => run(program, args, dir, env),
    async close() {
      await Promise.all([hub.close(), spoke.close()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
  await stage.rotateToken();
  return stage;
}

async function prepareHub({ client }: TestServer): Promise<void> {
  await client.create(CustomResourceDefinition, clusterProfileCrd);
  for (const name of [FLEET, SECRETS]) await client.create(Namespace, { metadata: { name } });
  await eventually(() =>
    client.create(ClusterProfile, {
      metadata: { name: SPOKE, namespace: FLEET },
      spec: { clusterManager: { name: "test" } },
    }),
  );
}

async function prepareSpoke({ client }: TestServer): Promise<void> {
  await client.create(ServiceAccount, CONSUMER);
  await client.create(ClusterRoleBinding, {
    metadata: { name: "consumer" },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "consumer", namespace: "default" }],
  });
}

function hubKubeconfigText({ kubeconfig }: TestServer): string {
  const contexts = kubeconfig.contexts.map((context) => ({ ...context, namespace: SECRETS }));
  return kubeconfigText({ ...kubeconfig, contexts });
}

async function rotateToken(hub: TestServer, spoke: TestServer): Promise<string> {
  const { status } = await spoke.client.createSub<TokenRequest, ServiceAccount>(
    ServiceAccount,
    "default/consumer",
    "token",
    {
      apiVersion: apiVersionOf(TokenRequest),
      kind: TokenRequest.kind,
      metadata: {},
      spec: { expirationSeconds: 3600 },
    },
  );
  const token = status?.token ?? "";
  const patch = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: SPOKE, namespace: SECRETS },
    stringData: { token },
  };
  await hub.client.patch(Secret, `${SECRETS}/${SPOKE}`, patch, { type: "apply", fieldManager: "test", force: true });
  return token;
}

function run(program: string, args: readonly string[], cwd: string, more: Record<string, string>): Promise<Outcome> {
  const env = { PATH: process.env.PATH, HOME: cwd, ...more };
  return new Promise((resolve) => {
    execFile(program, args, { cwd, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
    });
  });
}
