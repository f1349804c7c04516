/** A fleet of one real cluster, which is its own hub: what becomes of it when its Secret changes and goes. */
import { readFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SelfSubjectReview, TokenRequest } from "#api/authentication";
import { ConfigMap, Secret, ServiceAccount } from "#api/core";
import { apiVersionOf } from "#api/meta";
import { ClusterRoleBinding, RBAC_GROUP } from "#api/rbac";
import { kubeconfigFor, kubeconfigText } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { connectedCluster, createFleet, type Fleet, isUnreachable, kubeconfigSecretsProvider } from "#runtime";
import { eventually } from "../support/eventually.ts";
import type { TestServer } from "../support/servers.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const PROMISED_MS = 5_000;
const missing = missingControlPlane();

/** A wire to the server that counts who is on it. */
interface Wire {
  readonly url: string;
  readonly open: Set<Socket>;
  readonly server: Server;
}

async function wireTo(target: string): Promise<Wire> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(new URL(target).port), "127.0.0.1");
    open.add(near);
    near.on("close", () => {
      open.delete(near);
      far.destroy();
    });
    far.on("close", () => near.destroy());
    for (const socket of [near, far]) socket.on("error", () => {});
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, open, server };
}

describe.skipIf(missing)(`a fleet on a real kube-apiserver${missing ? ` (${missing})` : ""}`, () => {
  let server: TestServer;
  let wire: Wire;
  beforeAll(async () => {
    server = await startControlPlane("fleet", { audit: true });
    wire = await wireTo(server.url);
  }, 120_000);
  afterAll(async () => {
    wire?.server.close();
    await server?.close();
  });

  async function secretFor(name: string) {
    await server.client.create(ServiceAccount, { metadata: { name, namespace: "default" } });
    await server.client.create(ClusterRoleBinding, {
      metadata: { name },
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
    });
    const request = { apiVersion: apiVersionOf(TokenRequest), kind: TokenRequest.kind, metadata: {}, spec: {} };
    const { status } = await server.client.createSub<TokenRequest, ServiceAccount>(
      ServiceAccount,
      `default/${name}`,
      "token",
      request,
    );
    const access = { name: "spoke", server: wire.url, ca: server.authority, token: status?.token ?? "" };
    return { stringData: { kubeconfig: kubeconfigText(kubeconfigFor(access)) } };
  }

  async function userOf(fleet: Fleet): Promise<string | undefined> {
    const cluster = await fleet.reach("spoke");
    if (isUnreachable(cluster)) throw new Error(cluster.message);
    const { status } = await cluster.client.create(SelfSubjectReview, { metadata: {} });
    return status?.userInfo?.username;
  }

  /** How often one of the two service accounts listed ConfigMaps, or began to watch them. */
  async function reads(): Promise<number> {
    const lines = (await readFile(server.auditLog, "utf8")).split("\n");
    const isOurs = (line: string) =>
      /"verb":"(list|watch)"/.test(line) &&
      line.includes('"requestURI":"/api/v1/configmaps?') &&
      /"username":"system:serviceaccount:default:(one|two)"/.test(line);
    const ids = lines.filter(isOurs).map((line) => (JSON.parse(line) as { auditID: string }).auditID);
    return new Set(ids).size;
  }

  it("uses a new credential without reopening watches, and leaves no socket when the Secret is deleted", async () => {
    const [one, two] = [await secretFor("one"), await secretFor("two")];
    const labels = { "kro.run/cluster": "true" };
    await server.client.create(Secret, { metadata: { name: "spoke", namespace: "default", labels }, ...one });
    const hub = connectedCluster({ name: "hub", client: server.client, clock: systemClock, log: silentLog });
    const provider = kubeconfigSecretsProvider({ hub, namespace: "default", clock: systemClock });
    const fleet = createFleet({ provider, clock: systemClock, log: silentLog });
    const stop = new AbortController();
    const ended = fleet.run(stop.signal);
    const maps = fleet.cache(ConfigMap);
    maps.start(stop.signal);
    await eventually(() => expect(maps.on("spoke")).toBeDefined());
    expect(await userOf(fleet)).toBe("system:serviceaccount:default:one");
    await eventually(async () => expect(await reads()).toBe(1));
    expect(wire.open.size).toBe(1);

    await server.client.patch(Secret, "default/spoke", two);
    const isTwo = async () => expect(await userOf(fleet)).toBe("system:serviceaccount:default:two");
    await eventually(isTwo, PROMISED_MS);
    await server.client.create(ConfigMap, { metadata: { name: "after", namespace: "default" } });
    await eventually(() => expect(maps.get("spoke", "default/after")).toBeDefined());
    expect(await reads()).toBe(1);
    expect(wire.open.size).toBe(1);

    await server.client.delete(Secret, "default/spoke");
    await eventually(() => expect(wire.open.size).toBe(0), PROMISED_MS);
    expect(fleet.members).toEqual([]);
    stop.abort();
    await ended;
  });
});
