import { afterEach, describe, expect, it } from "vitest";
import { CertificateSigningRequest } from "#api/certificates";
import { ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { ConfigMap, Secret, ServiceAccount } from "#api/core";
import { createLogger } from "#lib/log";
import { AGENT_SECRET, AgentStage, type AgentStageOptions } from "../../../../test/support/agent-stage.ts";

const HOUR = 3_600_000;
const LEARNED = "registration.capstan.dev/authority-learned-beyond";
const ASKED = "registration.capstan.dev/asked-with";
const REJOIN = "capstan rejoin --cluster-name c1 --context SPOKE --hub-context HUB";

let stages: AgentStage[] = [];
afterEach(async () => {
  await Promise.all(stages.map((stage) => stage.stop()));
  stages = [];
});

function newStage(options?: AgentStageOptions): AgentStage {
  const stage = new AgentStage(options);
  stages.push(stage);
  return stage;
}

/** Everything that the agent says. */
function listening(stage: AgentStage) {
  const lines: string[] = [];
  const log = createLogger({ level: "info", format: "human", clock: stage.clock, write: (line) => lines.push(line) });
  return { lines, log, said: (text: string) => lines.some((line) => line.includes(text)) };
}

const withToken = (stage: AgentStage) => stage.connections.filter((text) => text.includes("bootstrap-token"));

describe("the names of an agent", () => {
  it("are kept before it asks, so that one which is started again asks as the same", async () => {
    const stage = newStage();
    const stop = stage.start();
    await stage.until("a request", () => stage.requests().length === 1);
    await stop();
    stage.start();
    await stage.until("another request", () => stage.requests().length === 2);
    const [first, second] = stage.requests().map((request) => stage.askedFor(request));
    expect(second).toBe(first);
    expect(first).toBe(`system:open-cluster-management:c1:${stage.stored("agent-name")}`);
  });

  it("are kept before the cluster is on the hub's list", async () => {
    const stage = newStage();
    let keptAtFirst = "";
    stage.hub.beforeWrite(({ kind }) => {
      if (kind === "ManagedCluster") keptAtFirst = stage.stored("cluster-name");
    });
    stage.start({ clusterName: "" });
    await stage.until("a request", () => stage.requests().length === 1);
    expect(keptAtFirst).toBe(stage.hub.readAll(ManagedCluster)[0]?.metadata.name);
  });

  it("outlive the identity: one that ran out is asked for under the same name", async () => {
    const stage = newStage();
    stage.start();
    await stage.join();
    const agent = stage.stored("agent-name");
    stage.isAway = true;
    await stage.untilLater("the end of the certificate", HOUR, () => withToken(stage).length > 1);
    stage.isAway = false;
    await stage.untilLater("a request", 5_000, () => stage.requests().some(({ status }) => !status));
    const open = stage.requests().find(({ status }) => !status);
    expect(stage.askedFor(open)).toBe(`system:open-cluster-management:c1:${agent}`);
    stage.sign();
    await stage.untilLater("its own identity", 1_000, () => !stage.connections.at(-1)?.includes("bootstrap-token"));
    expect(stage.stored("agent-name")).toBe(agent);
  });

  it("of another cluster make a new identity, and the old one waits in case that was a mistake", async () => {
    const stage = newStage();
    const stop = stage.start();
    await stage.join();
    await stop();
    const agent = stage.stored("agent-name");
    const mistaken = stage.start({ clusterName: "c2" });
    await stage.until("a request of the other", () => stage.requests().length === 2);
    expect(stage.requests().map((request) => stage.askedFor(request))).toContain(
      `system:open-cluster-management:c2:${agent}`,
    );
    await mistaken();
    const before = withToken(stage).length;
    const count = stage.connections.length;
    stage.start();
    await stage.until("the old identity", () => stage.connections.length > count);
    expect(withToken(stage)).toHaveLength(before);
  });
});

describe("a damaged identity", () => {
  it.each([
    ["kubeconfig", undefined],
    ["kubeconfig", "{"],
    ["agent-name", "other"],
    ["tls.crt", "nonsense"],
    ["tls.key", undefined],
  ] as const)("is renewed without a person while the agent runs: %s becomes %j", async (key, text) => {
    const stage = newStage();
    stage.start();
    await stage.join();
    const agent = stage.stored("agent-name");
    stage.damage(key, text);
    await stage.until("a request as itself", () => stage.requests().length === 2);
    stage.sign();
    await stage.until("an identity", () => stage.stored("tls.crt") !== "" && stage.connections.length >= 3);
    expect(stage.stored("agent-name")).toBe(agent);
    expect(stage.stored("cluster-name")).toBe("c1");
    expect(withToken(stage)).toHaveLength(1);
  });

  it.each(["agent-name", "cluster-name"])(
    "that only lost its %s gets it back, and nothing is asked for",
    async (key) => {
      const stage = newStage();
      stage.start();
      await stage.join();
      const name = stage.stored(key);
      stage.damage(key);
      await stage.until("its name", () => stage.stored(key) === name);
      await stage.settle();
      expect(stage.requests()).toHaveLength(1);
    },
  );

  it("that lost its agent's name is found again by a restarted agent, which asks for nothing", async () => {
    const stage = newStage();
    const stop = stage.start();
    await stage.join();
    const agent = stage.stored("agent-name");
    await stop();
    stage.damage("agent-name");
    const count = stage.connections.length;
    stage.start();
    await stage.until("a connection", () => stage.connections.length > count);
    expect(stage.stored("agent-name")).toBe(agent);
    expect(stage.connections.at(-1)).not.toContain("bootstrap-token");
    expect(stage.requests()).toHaveLength(1);
  });
});

describe("a hub", () => {
  it("under another name in the bootstrap kubeconfig is another hub: the cluster asks anew", async () => {
    const stage = newStage();
    const stop = stage.start();
    await stage.join();
    await stop();
    stage.start({ bootstrapKubeconfig: stage.bootstrap({ name: "renamed" }) });
    await stage.until("a request", () => stage.requests().length === 2);
    expect(new Set(stage.requests().map((request) => stage.askedFor(request))).size).toBe(1);
  });

  it("that does not know the token is told in words, and joined as soon as it does", async () => {
    const stage = newStage();
    const heard = listening(stage);
    stage.tokens.clear();
    stage.start({ log: heard.log });
    await stage.until("words", () => heard.said("does not know the token in the bootstrap kubeconfig"));
    expect(heard.said(REJOIN)).toBe(true);
    await stage.untilLater("many tries", 5_000, () => stage.connections.length > 20);
    expect(heard.lines.filter((line) => line.includes("does not know the token"))).toHaveLength(1);
    stage.tokens.add("bootstrap-token");
    await stage.untilLater("a request", 5_000, () => stage.requests().length === 1);
  });

  it("that forgot a certificate is asked with the bootstrap identity, as the same agent", async () => {
    const stage = newStage();
    const heard = listening(stage);
    stage.start({ log: heard.log });
    await stage.join();
    const agent = stage.stored("agent-name");
    const forgotten = stage.stored("tls.crt");
    stage.knows = (certificate) => certificate !== forgotten;
    await stage.untilLater("the bootstrap identity", 10_000, () => withToken(stage).length === 2);
    await stage.untilLater("a request", 1_000, () => stage.requests().some(({ status }) => !status));
    expect(stage.askedFor(stage.requests().find(({ status }) => !status))).toMatch(new RegExp(`:${agent}$`));
    expect(heard.said("does not know the agent's certificate any more")).toBe(true);
    const last = stage.beat();
    stage.sign();
    await stage.untilLater("a beat", 1_000, () => stage.beat() !== last);
    expect(stage.stored("tls.crt")).not.toBe(forgotten);
  });

  it("that forgot a certificate for a moment only finds the same one again", async () => {
    const stage = newStage();
    stage.start();
    await stage.join();
    const certificate = stage.stored("tls.crt");
    stage.knows = () => false;
    await stage.untilLater("the bootstrap identity", 10_000, () => withToken(stage).length === 2);
    stage.knows = () => true;
    const last = stage.beat();
    await stage.untilLater("a beat", 10_000, () => stage.beat() !== last);
    expect(stage.stored("tls.crt")).toBe(certificate);
  });

  it("whose certificate has ended by the agent's own clock is asked seldom, and the clocks are named", async () => {
    const stage = newStage({ certificateMs: -1 });
    const heard = listening(stage);
    stage.start({ log: heard.log });
    await stage.until("a request", () => stage.requests().length === 1);
    stage.sign();
    await stage.until("words", () => heard.said("has ended by this machine's clock"));
    await stage.settle();
    expect(stage.requests()).toHaveLength(1);
  });
});

describe("a renewed certificate", () => {
  it("is used only when the hub has answered to it, and the old one beats until then", async () => {
    const stage = newStage();
    stage.start();
    await stage.join();
    const first = stage.stored("tls.crt");
    stage.knows = (certificate) => certificate === first;
    await stage.untilLater("a renewal", 60_000, () => stage.requests().length === 2);
    stage.sign();
    await stage.until("the new one", () => stage.stored("tls.crt") !== first);
    const last = stage.beat();
    await stage.untilLater("a beat with the old one", 10_000, () => stage.beat() !== last);
    stage.knows = () => true;
    await stage.untilLater("the change", 5_000, () => stage.connections.length > 2);
    const next = stage.beat();
    await stage.untilLater("a beat with the new one", 10_000, () => stage.beat() !== next);
    expect(withToken(stage)).toHaveLength(1);
  });

  it("that nobody approved as its own is asked for with the bootstrap identity when the old one has ended", async () => {
    const stage = newStage();
    stage.start();
    await stage.join();
    await stage.untilLater("a renewal", 60_000, () => stage.requests().length === 2);
    const own = stage.requests().find(({ status }) => !status);
    await stage.untilLater("another way to ask", 60_000, () => stage.requests().length === 3);
    expect(withToken(stage)).toHaveLength(2);
    stage.hub.drop(CertificateSigningRequest, own?.metadata.name ?? "");
    stage.sign();
    await stage.untilLater("its identity", 1_000, () => !stage.connections.at(-1)?.includes("bootstrap-token"));
  });
});

describe("an authority of the hub that is renewed", () => {
  const bundle = (stage: AgentStage, next: { certificate: string }) => stage.authority.certificate + next.certificate;

  it("with overlap is learned from the hub, and needs nobody", async () => {
    const stage = newStage({ certificateMs: 1000 * HOUR });
    const heard = listening(stage);
    stage.start({ log: heard.log });
    await stage.join();
    const next = stage.newAuthority("second");
    stage.hub.put(ConfigMap, {
      metadata: { name: "kube-root-ca.crt", namespace: "kube-public" },
      data: { "ca.crt": bundle(stage, next) },
    });
    await stage.untilLater("the word of it", HOUR, () => heard.said("trusts the hub's renewed authority"));
    expect(heard.said("ConfigMap kube-public/kube-root-ca.crt")).toBe(true);
    stage.authority = next;
    const last = stage.beat();
    await stage.untilLater("a beat", 10_000, () => stage.beat() !== last);
    expect(stage.requests()).toHaveLength(1);
    expect(stage.stored("kubeconfig")).toContain(Buffer.from(bundle(stage, next)).toString("base64").slice(0, 40));
  });

  it("and was learned still counts after a restart, though the bootstrap kubeconfig is old", async () => {
    const stage = newStage({ certificateMs: 1000 * HOUR });
    const old = stage.bootstrap();
    const stop = stage.start();
    await stage.join();
    const next = stage.newAuthority("second");
    const data = { "ca.crt": bundle(stage, next) };
    stage.hub.put(ConfigMap, { metadata: { name: "kube-root-ca.crt", namespace: "kube-public" }, data });
    const before = stage.stored("kubeconfig");
    await stage.untilLater("the new way", HOUR, () => stage.stored("kubeconfig") !== before);
    stage.authority = next;
    await stop();
    const last = stage.beat();
    stage.start({ bootstrapKubeconfig: old });
    await stage.untilLater("a beat", 10_000, () => stage.beat() !== last);
    expect(stage.requests()).toHaveLength(1);
  });

  it("and comes by the bootstrap kubeconfig needs no new certificate either, and others on the spoke hear of it", async () => {
    const stage = newStage({ certificateMs: 1000 * HOUR });
    const stop = stage.start();
    await stage.join();
    const next = stage.newAuthority("second");
    const renewed = stage.bootstrap({ ca: bundle(stage, next) });
    await stop();
    stage.authority = next;
    const before = stage.stored("kubeconfig");
    const last = stage.beat();
    stage.start({ bootstrapKubeconfig: renewed });
    await stage.untilLater("a beat", 10_000, () => stage.beat() !== last);
    await stage.until("the way of others", () => stage.stored("kubeconfig") !== before);
    expect(stage.requests()).toHaveLength(1);
    expect(stage.spoke.read(Secret, AGENT_SECRET)?.metadata.annotations).not.toHaveProperty([LEARNED]);
  });

  it("but does not vouch for the hub as it is now is not taken", async () => {
    const stage = newStage({ certificateMs: 1000 * HOUR });
    stage.start();
    await stage.join();
    const before = stage.stored("kubeconfig");
    const data = { "ca.crt": stage.newAuthority("of somebody else").certificate };
    stage.hub.put(ConfigMap, { metadata: { name: "kube-root-ca.crt", namespace: "kube-public" }, data });
    const count = stage.connections.length;
    await stage.untilLater("a try", HOUR, () => stage.connections.length > count);
    await stage.settle();
    expect(stage.stored("kubeconfig")).toBe(before);
  });

  it("from one day to the next is told in words with the one command", async () => {
    const stage = newStage();
    const heard = listening(stage);
    stage.start({ log: heard.log });
    await stage.join();
    stage.authority = stage.newAuthority("second");
    await stage.untilLater("words", 10_000, () => heard.said("is not whom the agent trusts"));
    expect(heard.said(REJOIN)).toBe(true);
  });
});

describe("a cluster that was deleted on the hub", () => {
  it("stays so, however often its agent is started, until somebody lets it join again", async () => {
    const stage = newStage();
    const stop = stage.start();
    await stage.join();
    stage.hub.drop(ManagedCluster, "c1");
    await stop();
    const again = stage.start();
    await stage.settle();
    expect(stage.hub.readAll(ManagedCluster)).toEqual([]);
    expect(stage.requests()).toHaveLength(1);
    await again();

    const agent = stage.stored("agent-name");
    stage.tokens.add("new-token");
    stage.start({ bootstrapKubeconfig: stage.bootstrap({ token: "new-token" }) });
    await stage.until("another request", () => stage.requests().length === 2);
    expect(stage.askedFor(stage.requests().find(({ status }) => !status))).toContain(`:c1:${agent}`);
    expect(stage.hub.readAll(ManagedCluster)).toHaveLength(1);
    stage.hub.drop(Lease, "c1/managed-cluster-lease");
    await stage.join();
  });

  it("asks for its own entry only, ever more seldom, and says so once; and comes back when it is let in again", async () => {
    const stage = newStage({ certificateMs: 1000 * HOUR });
    const heard = listening(stage);
    stage.start({ log: heard.log });
    await stage.join();
    await stage.settle(); // what it has to say of its cluster is said
    const beat = stage.beat();
    const entry = stage.hub.read(ManagedCluster, "c1");
    stage.refuses = () => true;
    stage.hub.drop(ManagedCluster, "c1");
    await stage.untilLater("words", 1_000, () => heard.said("does not let this cluster in"));
    const [asked, lines] = [stage.asked.length, heard.lines.length];
    for (let minute = 0; minute < 60; minute++) {
      stage.clock.advance(60_000);
      await stage.settle();
    }
    const since = stage.asked.slice(asked);
    expect([...new Set(since)]).toEqual(["get ManagedCluster"]);
    expect(since.length).toBeLessThanOrEqual(60);
    expect(heard.lines).toHaveLength(lines);
    expect(heard.lines.filter((line) => / (WARN|ERROR) /.test(line))).toHaveLength(1);

    stage.refuses = () => false;
    if (entry) stage.hub.put(ManagedCluster, entry);
    await stage.untilLater("a beat", 10_000, () => stage.beat() !== beat);
    expect(stage.requests()).toHaveLength(1);
  });

  it("loses the access that its agent granted, because somebody took it away from the hub", async () => {
    const stage = newStage({ certificateMs: 1000 * HOUR });
    stage.start({ grantAccess: "view" });
    await stage.join();
    stage.hub.put(Secret, { metadata: { name: "capstan-cluster-access", namespace: "c1" } });
    const account = () => stage.spoke.read(ServiceAccount, "open-cluster-management-agent/cluster-access");
    await stage.until("a service account", () => account() !== undefined);
    stage.refuses = () => true;
    stage.hub.drop(ManagedCluster, "c1");
    await stage.untilLater("the end of it", 1_000, () => account() === undefined);
  });

  it("has asked with what it was given while it belonged to the hub", async () => {
    const stage = newStage();
    const stop = stage.start();
    await stage.join();
    await stop();
    stage.tokens.add("new-token");
    const bootstrapKubeconfig = stage.bootstrap({ token: "new-token" });
    const marked = () => stage.spoke.read(Secret, AGENT_SECRET)?.metadata.annotations?.[ASKED];
    const before = marked();
    const renewed = stage.start({ bootstrapKubeconfig });
    await stage.until("a note", () => marked() !== before);
    await renewed();
    stage.hub.drop(ManagedCluster, "c1");
    stage.start({ bootstrapKubeconfig });
    await stage.settle();
    expect(stage.hub.readAll(ManagedCluster)).toEqual([]);
  });
});

describe("a cluster that the hub denies", () => {
  const judge = (stage: AgentStage, status: "True" | "False") => {
    const cluster = stage.hub.read(ManagedCluster, "c1");
    if (!cluster) throw new Error("there is no cluster");
    const condition = { type: "HubAcceptedManagedCluster", reason: "r", message: "", lastTransitionTime: "", status };
    stage.hub.put(ManagedCluster, { ...cluster, status: { conditions: [condition] } });
  };

  it("is told so once, asks for nothing, and goes on where it was when it is accepted again", async () => {
    const stage = newStage({ certificateMs: 1000 * HOUR });
    const heard = listening(stage);
    stage.start({ log: heard.log });
    await stage.join();
    judge(stage, "False");
    await stage.until("words", () => heard.said("the hub has denied this cluster"));
    await stage.settle();
    const asked = stage.asked.length;
    const beat = stage.beat();
    for (let hour = 0; hour < 5; hour++) {
      stage.clock.advance(HOUR);
      await stage.settle();
    }
    expect(stage.asked.slice(asked)).toEqual([]);
    expect(stage.beat()).toBe(beat);
    expect(heard.lines.filter((line) => / (WARN|ERROR) /.test(line))).toHaveLength(1);
    judge(stage, "True");
    await stage.untilLater("a beat", 10_000, () => stage.beat() !== beat);
    expect(stage.requests()).toHaveLength(1);
  });
});

describe("what an agent asks of the hub about its authority", () => {
  const looks = (stage: AgentStage) => stage.asked.filter((each) => each === "get ConfigMap").length;

  it("is nothing when it joins: it was told whom to trust a moment ago", async () => {
    const stage = newStage({ certificateMs: 1000 * HOUR });
    stage.start();
    await stage.join();
    await stage.settle();
    expect(looks(stage)).toBe(0);
    await stage.untilLater("a look", HOUR, () => looks(stage) > 0);
  });

  it("is not asked again when the certificate is renewed, and not for a day when it was refused", async () => {
    const stage = newStage({ certificateMs: 10 * HOUR });
    stage.refuses = (call) => call === "get ConfigMap";
    stage.start();
    await stage.join();
    await stage.untilLater("a look", HOUR, () => looks(stage) > 0);
    await stage.settle();
    // Once as itself, and once as nobody.
    expect(looks(stage)).toBe(2);
    for (let hour = 0; hour < 20; hour++) {
      stage.clock.advance(HOUR);
      await stage.settle();
      if (!stage.requests().some(({ status }) => !status)) continue;
      stage.sign();
      await stage.settle();
    }
    expect(stage.requests().length).toBeGreaterThan(2);
    expect(looks(stage)).toBe(2);
    await stage.untilLater("another look", HOUR, () => looks(stage) > 2);
  });

  it("is at rest nothing but beats", async () => {
    const stage = newStage({ certificateMs: 1000 * HOUR });
    stage.refuses = (call) => call === "get ConfigMap";
    stage.start();
    await stage.join();
    await stage.untilLater("a look", HOUR, () => looks(stage) > 0);
    await stage.settle();
    stage.asked.length = 0;
    for (let minute = 0; minute < 120; minute++) {
      stage.clock.advance(60_000);
      await stage.settle();
    }
    expect([...new Set(stage.asked)]).toEqual(["update Lease"]);
  });
});
