import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TokenRequest } from "#api/authentication";
import { ManagedCluster } from "#api/cluster";
import { Secret, ServiceAccount } from "#api/core";
import { ClusterRoleBinding } from "#api/rbac";
import type { Client } from "#kube";
import { ManualClock } from "#lib/clock";
import { createLogger } from "#lib/log";
import {
  type FakeCluster,
  fakeCluster,
  type RunningControllers,
  startControllers,
} from "../../../../test/support/index.ts";
import { accessTokenController } from "./access-token.controller.ts";

const HOUR = 3_600_000;
const SECRET = "c1/capstan-cluster-access";
const ACCOUNT = "agents/cluster-access";
const BINDING = "open-cluster-management:cluster-access:agents";

function cluster(accepted?: "True" | "False") {
  const condition = { type: "HubAcceptedManagedCluster", reason: "r", message: "", lastTransitionTime: "" };
  return {
    metadata: { name: "c1" },
    ...(accepted && { status: { conditions: [{ ...condition, status: accepted }] } }),
  };
}

class Stage {
  readonly clock = new ManualClock("2026-01-01T00:00:00Z");
  /** Every token that the spoke has given, oldest first. */
  readonly issued: string[] = [];
  readonly lines: string[] = [];
  readonly hub: FakeCluster = fakeCluster({ clock: this.clock }, [ManagedCluster, cluster("True")], [Secret]);
  readonly spoke: FakeCluster = fakeCluster({ clock: this.clock, name: "c1", createSub: this.#issuer() });
  clusterRole = "cluster-admin";
  lifetime = 24 * 3600;
  disguise = (token: string) => token;
  random = 0;
  #running: RunningControllers | undefined;

  constructor() {
    this.makeRoom();
  }

  makeRoom(data?: Record<string, string>): void {
    this.hub.put(Secret, { metadata: { name: "capstan-cluster-access", namespace: "c1" }, ...(data && { data }) });
  }

  /** Starts the agent's controller, or starts it again as after a restart, and lets it do what there is to do. */
  async start(): Promise<void> {
    await this.stop();
    const { hub, spoke, clock, clusterRole } = this;
    const log = createLogger({ level: "debug", format: "json", clock, write: (line) => this.lines.push(line) });
    const options = { hub, spoke, clusterName: "c1", namespace: "agents", clusterRole, clock, log };
    const controller = accessTokenController({ ...options, random: () => this.random });
    this.#running = startControllers([controller], { clock, log });
    await this.#running.quiet();
  }

  async quiet(): Promise<void> {
    await this.#running?.quiet();
  }

  async stop(): Promise<void> {
    await this.#running?.stop();
    this.#running = undefined;
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.quiet();
  }

  get token(): string {
    return Buffer.from(this.hub.read(Secret, SECRET)?.data?.token ?? "", "base64").toString();
  }

  #issuer(): Client["createSub"] {
    const issue = async (_: unknown, key: string, subresource: string, body: TokenRequest) => {
      const account = this.spoke.read(ServiceAccount, key);
      if (!account || subresource !== "token") throw new Error(`nobody answers for ${key}/${subresource}`);
      const iat = this.clock.now().getTime() / 1000;
      const exp = iat + Math.min(body.spec.expirationSeconds ?? 0, this.lifetime);
      const serviceaccount = { name: account.metadata.name, uid: account.metadata.uid };
      const claims = { iat, exp, jti: this.issued.length, "kubernetes.io": { namespace: "agents", serviceaccount } };
      const token = `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.signature${this.issued.length}`;
      this.issued.push(token);
      return { ...body, status: { token: this.disguise(token), expirationTimestamp: "" } };
    };
    return issue as unknown as Client["createSub"];
  }
}

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.stop());

describe("an agent that grants access", () => {
  it("makes a service account with the role, and puts its token into the Secret that the hub made", async () => {
    await stage.start();
    expect(stage.issued).toHaveLength(1);
    expect(stage.token).toBe(stage.issued[0]);
    expect(stage.spoke.read(ServiceAccount, ACCOUNT)).toMatchObject({ automountServiceAccountToken: false });
    expect(stage.spoke.read(ClusterRoleBinding, BINDING)).toMatchObject({
      roleRef: { kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: "cluster-access", namespace: "agents" }],
    });
  });

  it("writes the Secret by PUT, because agents may not patch it", async () => {
    await stage.start();
    expect(stage.hub.writes.map(({ verb, kind }) => `${verb} ${kind}`)).toEqual(["update Secret"]);
  });

  it("costs nothing once all is well, however often it is looked at", async () => {
    await stage.start();
    stage.hub.writes.length = 0;
    stage.spoke.writes.length = 0;
    stage.hub.put(ManagedCluster, { ...cluster("True"), spec: { leaseDurationSeconds: 7 } });
    await stage.quiet();
    expect([stage.hub.writes, stage.spoke.writes, stage.issued.length]).toEqual([[], [], 1]);
  });

  it("tells nobody the token", async () => {
    await stage.start();
    await stage.pass(20 * HOUR);
    expect(stage.lines.join()).toContain("put a new token");
    for (const token of stage.issued) expect(stage.lines.join()).not.toContain(token.slice(2));
  });

  it.each([
    ["the hub has not accepted the cluster", () => stage.hub.put(ManagedCluster, cluster())],
    ["the hub has made no Secret", () => stage.hub.drop(Secret, SECRET)],
  ])("waits while %s", async (_, given) => {
    given();
    await stage.start();
    expect([stage.issued, stage.spoke.writes]).toEqual([[], []]);
    stage.hub.put(ManagedCluster, cluster("True"));
    stage.makeRoom();
    await stage.quiet();
    expect(stage.token).toBe(stage.issued[0]);
  });
});

describe("a token", () => {
  it.each([
    [0, 0.8],
    [1, 0.75],
  ])("is renewed well before it runs out, not by all agents at once (%d)", async (random, share) => {
    stage.random = random;
    await stage.start();
    const [first] = stage.issued;
    await stage.pass(share * 24 * HOUR - 1);
    expect(stage.token).toBe(first);
    await stage.pass(1);
    expect(stage.issued).toHaveLength(2);
    expect(stage.token).toBe(stage.issued[1]);
    await stage.pass(share * 24 * HOUR);
    expect(stage.token).toBe(stage.issued[2]);
  });

  it("is renewed by the lifetime that the server gave, not by the one that was asked for", async () => {
    stage.lifetime = 3600;
    await stage.start();
    await stage.pass(0.8 * HOUR);
    expect(stage.issued).toHaveLength(2);
  });

  it("outlives a restart of the agent", async () => {
    await stage.start();
    stage.hub.writes.length = 0;
    stage.spoke.writes.length = 0;
    await stage.start();
    expect([stage.hub.writes, stage.spoke.writes, stage.issued.length]).toEqual([[], [], 1]);
    await stage.pass(0.8 * 24 * HOUR);
    expect(stage.issued).toHaveLength(2);
  });

  it("that ran out while the agent was stopped is replaced at its start", async () => {
    await stage.start();
    await stage.stop();
    stage.clock.advance(25 * HOUR);
    await stage.start();
    expect(stage.token).toBe(stage.issued[1]);
  });

  const claims = { iat: 0, exp: 9e9, "kubernetes.io": { serviceaccount: { uid: "u" } } };
  const forged = `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.s`;
  const tampering: [string, () => void][] = [
    ["was taken out of the Secret", () => stage.makeRoom({})],
    ["was exchanged for nonsense", () => stage.makeRoom({ token: Buffer.from("nonsense").toString("base64") })],
    ["was exchanged for another", () => stage.makeRoom({ token: Buffer.from(forged).toString("base64") })],
    [
      "went with the whole Secret",
      () => {
        stage.hub.drop(Secret, SECRET);
        stage.makeRoom();
      },
    ],
    ["lost its service account", () => stage.spoke.drop(ServiceAccount, ACCOUNT)],
    [
      "lost its service account to one of the same name",
      () => {
        stage.spoke.drop(ServiceAccount, ACCOUNT);
        stage.spoke.put(ServiceAccount, { metadata: { name: "cluster-access", namespace: "agents" } });
      },
    ],
  ];

  it.each(tampering)("that %s is replaced at once", async (_, tamper) => {
    await stage.start();
    tamper();
    await stage.quiet();
    expect(stage.issued).toHaveLength(2);
    expect(stage.token).toBe(stage.issued[1]);
  });

  it.each(tampering)("that %s while the agent was stopped is replaced at its start", async (_, tamper) => {
    await stage.start();
    await stage.stop();
    tamper();
    await stage.start();
    expect(stage.issued).toHaveLength(2);
    expect(stage.token).toBe(stage.issued[1]);
  });

  it.each<[string, RegExp, () => void]>([
    ["cannot be understood", /does not tell how long/, () => (stage.disguise = (token) => token.replaceAll(".", "-"))],
    ["is over by the agent's clock", /has expired/, () => (stage.lifetime = 0)],
  ])("that %s is not put there, because it would be replaced for ever", async (_, why, given) => {
    given();
    await expect(stage.start()).rejects.toThrow(
      expect.objectContaining({ cause: expect.objectContaining({ message: expect.stringMatching(why) }) }),
    );
    expect(stage.hub.writes).toEqual([]);
    expect(stage.issued.length).toBeLessThan(10);
  });

  it("is the only thing in the Secret, whatever somebody adds to it", async () => {
    stage.makeRoom({ more: "eA==" });
    await stage.start();
    expect(Object.keys(stage.hub.read(Secret, SECRET)?.data ?? {})).toEqual(["token"]);
  });
});

describe("the rights of those who come with the token", () => {
  it("are given back when somebody takes the binding", async () => {
    await stage.start();
    stage.spoke.drop(ClusterRoleBinding, BINDING);
    await stage.quiet();
    expect(stage.spoke.read(ClusterRoleBinding, BINDING)).toBeDefined();
    expect(stage.issued).toHaveLength(1);
  });

  it("follow the agent's option, with the same token", async () => {
    await stage.start();
    stage.clusterRole = "view";
    await stage.start();
    expect(stage.spoke.read(ClusterRoleBinding, BINDING)?.roleRef.name).toBe("view");
    expect(stage.issued).toHaveLength(1);
  });
});
