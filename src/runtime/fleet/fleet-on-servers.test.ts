import { readFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SelfSubjectReview, TokenRequest } from "#api/authentication";
import { ConfigMap, Secret, ServiceAccount } from "#api/core";
import { apiVersionOf } from "#api/meta";
import { ClusterRoleBinding, RBAC_GROUP } from "#api/rbac";
import { type Connection, connectionOf, kubeconfigFor, kubeconfigText } from "#kube";
import { type Clock, systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { eventually } from "../../../test/support/eventually.ts";
import { startEmbedded, type TestServer } from "../../../test/support/servers.ts";
import { scriptedServer } from "../../kube/testing/scripted-server.ts";
import { connectedCluster } from "../connected-cluster.ts";
import {
  createFleet,
  type Fleet,
  type FleetProvider,
  isUnreachable,
  kubeconfigSecretsProvider,
  staticProvider,
} from "./index.ts";

/** What the fleet promises: a replaced or deleted Secret has taken effect by then. */
const PROMISED_MS = 5_000;

let hub: TestServer;
let spoke: TestServer;
beforeAll(async () => {
  [hub, spoke] = await Promise.all([startEmbedded("hub"), startEmbedded("spoke")]);
});
afterAll(() => Promise.all([hub.close(), spoke.close()]));

async function withFleet(
  provider: FleetProvider,
  work: (fleet: Fleet) => Promise<void>,
  clock: Clock = systemClock,
): Promise<void> {
  const fleet = createFleet({ provider, clock, log: silentLog });
  const stop = new AbortController();
  const ended = fleet.run(stop.signal);
  try {
    await work(fleet);
  } finally {
    stop.abort();
    await ended;
  }
}

/** A token of a new service account that may do everything. */
async function tokenOf(name: string): Promise<string> {
  await spoke.client.create(ServiceAccount, { metadata: { name, namespace: "default" } });
  await spoke.client.create(ClusterRoleBinding, {
    metadata: { name },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
  });
  const request = { apiVersion: apiVersionOf(TokenRequest), kind: TokenRequest.kind, metadata: {}, spec: {} };
  const { status } = await spoke.client.createSub<TokenRequest, ServiceAccount>(
    ServiceAccount,
    `default/${name}`,
    "token",
    request,
  );
  return status?.token ?? "";
}

const secretWith = (token: string) => ({
  stringData: {
    kubeconfig: kubeconfigText(kubeconfigFor({ name: "spoke", server: spoke.url, ca: spoke.authority, token })),
  },
});

/** How often the spoke was asked to list or watch ConfigMaps, by its own account. */
async function readsOf(server: TestServer): Promise<number> {
  const lines = (await readFile(server.auditLog, "utf8")).split("\n").filter((line) => line !== "");
  const events = lines.map((line) => JSON.parse(line) as { verb: string; stage: string; requestURI: string });
  const stages = new Map([
    ["watch", "ResponseStarted"],
    ["list", "ResponseComplete"],
  ]);
  const reads = events.filter(
    ({ verb, stage, requestURI }) => stages.get(verb) === stage && requestURI.startsWith("/api/v1/configmaps?"),
  );
  return reads.length;
}

async function userOf(fleet: Fleet, name: string): Promise<string | undefined> {
  const cluster = await fleet.reach(name);
  if (isUnreachable(cluster)) throw new Error(cluster.message);
  const { status } = await cluster.client.create(SelfSubjectReview, { metadata: {} });
  return status?.userInfo?.username;
}

/** Connections that a server of this process has; ends of ours that do not keep the process alive are not listed. */
function socketsOf({ url }: TestServer): number {
  const port = Number(new URL(url).port);
  const handles = (process as unknown as { _getActiveHandles(): { localPort?: number }[] })._getActiveHandles();
  return handles.filter(({ localPort }) => localPort === port).length;
}

describe("a cluster whose kubeconfig lies in a Secret", () => {
  it("gets a new credential without reopening its watches, and leaves no socket when the Secret is deleted", async () => {
    const cluster = connectedCluster({ name: "hub", client: hub.client, clock: systemClock, log: silentLog });
    const labels = { "sigs.k8s.io/multicluster-runtime-kubeconfig": "true" };
    const metadata = { name: "spoke", namespace: "default", labels };
    const [one, two] = [await tokenOf("one"), await tokenOf("two")];
    await hub.client.create(Secret, { metadata, ...secretWith(one) });
    spoke.client.close(); // from here on only the fleet has connections to it
    await eventually(() => expect(socketsOf(spoke)).toBe(0));

    const provider = kubeconfigSecretsProvider({ hub: cluster, namespace: "default", clock: systemClock });
    await withFleet(provider, async (fleet) => {
      const stop = new AbortController();
      const maps = fleet.cache(ConfigMap);
      maps.start(stop.signal);
      await eventually(() => expect(maps.on("spoke")).toBeDefined());
      expect(await userOf(fleet, "spoke")).toBe("system:serviceaccount:default:one");
      expect(socketsOf(spoke)).toBe(1);
      const before = await eventually(async () => {
        const count = await readsOf(spoke);
        expect(count).toBe(1);
        return count;
      });

      await hub.client.patch(Secret, "default/spoke", secretWith(two));
      const isTwo = async () => expect(await userOf(fleet, "spoke")).toBe("system:serviceaccount:default:two");
      await eventually(isTwo, PROMISED_MS);
      expect(await readsOf(spoke)).toBe(before);
      expect(maps.on("spoke")?.synced).toBe(true);

      await hub.client.delete(Secret, "default/spoke");
      await eventually(() => expect(socketsOf(spoke)).toBe(0), PROMISED_MS);
      expect(await fleet.reach("spoke")).toMatchObject({ reason: "ClusterNotFound" });
      stop.abort();
    });
  });
});

describe("sick clusters", () => {
  const ends: (() => Promise<unknown>)[] = [];
  afterAll(() => Promise.all(ends.map((end) => end())));

  /** Takes connections and does this with them. */
  async function tcp(onConnection: (socket: Socket) => void): Promise<Connection> {
    const sockets = new Set<Socket>();
    const server: Server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      onConnection(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ends.push(async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const address = server.address();
    return { server: `https://127.0.0.1:${typeof address === "object" ? address?.port : 0}` };
  }

  async function answering(status: number, body: unknown, headers = {}): Promise<Connection> {
    const server = await scriptedServer((request) => request.reply(status, body, headers));
    ends.push(() => server.stop());
    return server.connection;
  }

  it("delay no healthy one, and each says what is wrong with it", async () => {
    const sick: Record<string, Connection> = {
      hanging: await tcp(() => {}),
      refusing: { server: "https://127.0.0.1:1" },
      resetting: await tcp((socket) => socket.resetAndDestroy()),
      busy: await answering(429, "too many", { "retry-after": "60" }),
      broken: await answering(500, "out of order"),
      talking: await answering(200, "no JSON at all"),
      unknown: await answering(401, "who are you?"),
    };
    const healthy = await connectionOf(hub.kubeconfig);
    const clusters = { ...sick, well: healthy };
    await withFleet(staticProvider(clusters), async (fleet) => {
      const maps = fleet.cache(ConfigMap);
      const stop = new AbortController();
      maps.start(stop.signal);
      const keys: string[] = [];
      maps.keyedBy((map) => map.metadata.name).subscribe((key) => keys.push(key));
      await eventually(() => expect(maps.on("well")).toBeDefined(), 3_000);

      await hub.client.create(ConfigMap, { metadata: { name: "told", namespace: "default" } });
      await eventually(() => expect(keys).toContain("well|told"), 2_000);

      const reasonOf = (name: string) => fleet.members.find((member) => member.name === name)?.problem?.reason;
      await eventually(() => {
        for (const name of ["refusing", "resetting"]) expect(reasonOf(name)).toBe("ClusterUnreachable");
        for (const name of ["busy", "broken", "talking"]) expect(reasonOf(name)).toBe("ClusterUnhealthy");
        expect(reasonOf("unknown")).toBe("ClusterUnauthorized");
      });
      expect(reasonOf("hanging")).toMatch(/ClusterEngaging|ClusterUnreachable/);
      expect(fleet.members.filter(({ state }) => state === "Engaged").map(({ name }) => name)).toEqual(["well"]);
      stop.abort();
    });
  });
});
