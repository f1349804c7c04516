/** How an agent keeps its identity, loses it and gets it back. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { Secret } from "#api/core";
import { runHub, runRegistration } from "#app";
import { type Kubeconfig, kubeconfigText, parseKubeconfig } from "#kube";
import { systemClock } from "#lib/clock";
import { createCertificateAuthority, parseCertificate, parseCertificates } from "#lib/pki";
import { eventually } from "../../support/eventually.ts";
import { bootstrapKubeconfig, prepareHub } from "../../support/prepared.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";
import { ShiftedClock } from "../../support/shifted-clock.ts";
import type { FaultStage, RunningAgent } from "../registration-faults/stage.ts";

const MINUTE = 60_000;
/** The shortest life that a signer agrees to. */
const SHORT = 600;

export function identityCases(stageOf: () => FaultStage, start: StartServer): void {
  const joined = async (name: string, options: Parameters<FaultStage["start"]>[1] = {}): Promise<RunningAgent> => {
    const stage = stageOf();
    const agent = await stage.start(name, { clusterName: name, ...options });
    await stage.admit(name);
    await stage.untilWorking(name);
    return agent;
  };
  const secretOf = (name: string) => `${stageOf().namespaceOf(name)}/hub-kubeconfig-secret`;
  const touch = (name: string) =>
    stageOf().spoke.client.patch(Secret, secretOf(name), {
      metadata: { annotations: { touched: String(Date.now()) } },
    });
  const put = (name: string, key: string, text: string | null) =>
    stageOf().spoke.client.patch(Secret, secretOf(name), {
      data: { [key]: text === null ? null : Buffer.from(text).toString("base64") },
    });

  it("a certificate close to its end is renewed as the agent itself, approved by the hub, and the beat goes on", async () => {
    const stage = stageOf();
    const clock = new ShiftedClock();
    const agent = await joined("renews", { certificateSeconds: SHORT, clock });
    const first = await stage.stored("renews", "tls.crt");
    clock.shift = 9 * MINUTE;
    await touch("renews"); // time has passed, which a clock does not tell by itself
    await eventually(async () => expect(await stage.stored("renews", "tls.crt")).not.toBe(first));
    clock.shift = 0;
    await stage.untilNextBeat("renews");
    expect(await stage.condition("renews", "ClusterCertificateRotated")).toMatchObject({
      status: "True",
      reason: "ClientCertificateUpdated",
    });
    const requests = await stage.requests("renews");
    const user = `system:open-cluster-management:renews:${await stage.stored("renews", "agent-name")}`;
    expect(requests.map(({ spec }) => spec.username)).toContain(user);
    await stage.expectOne("renews");
    await agent.stop();
  });

  it("a certificate that ended is asked for anew with the bootstrap identity, as the same agent", async () => {
    const stage = stageOf();
    const agent = await joined("ended", { certificateSeconds: SHORT });
    await agent.stop();
    const clock = new ShiftedClock(11 * MINUTE);
    const late = await stage.start("ended", { clusterName: "ended", clock });
    await eventually(async () => expect(await stage.requests("ended")).toHaveLength(2));
    clock.shift = 0;
    await late.stop();
    // It waits for a person; a person who looks away loses nothing: the old one is still good by the right clock.
    const again = await stage.start("ended", { clusterName: "ended" });
    await stage.untilNextBeat("ended");
    await stage.expectOne("ended");
    await again.stop();
  });

  it("an agent that is started again under the same name asks for nothing", async () => {
    const stage = stageOf();
    await (await joined("restarted")).stop();
    const again = await stage.start("restarted", { clusterName: "restarted" });
    await stage.untilNextBeat("restarted");
    expect(await stage.requests("restarted")).toHaveLength(1);
    await again.stop();
  });

  it("an agent that is started again under another name becomes another cluster", async () => {
    const stage = stageOf();
    await (await joined("one-name")).stop();
    const other = await stage.start("one-name", { clusterName: "another-name" });
    await stage.admit("another-name");
    await stage.untilWorking("another-name");
    expect(await stage.stored("one-name", "cluster-name")).toBe("another-name");
    expect((await stage.hub.client.get(ManagedCluster, "one-name")).spec?.hubAcceptsClient).toBe(true);
    await other.stop();
  });

  it("a hub under another name in the bootstrap kubeconfig makes the cluster ask anew", async () => {
    const stage = stageOf();
    await (await joined("renamed-hub")).stop();
    const config = await stage.bootstrap();
    const renamed: Kubeconfig = {
      ...config,
      clusters: config.clusters.map((cluster) => ({ ...cluster, name: "renamed" })),
      contexts: config.contexts.map((context) => ({ ...context, cluster: "renamed" })),
    };
    const again = await stage.start("renamed-hub", {
      clusterName: "renamed-hub",
      bootstrapKubeconfig: kubeconfigText(renamed),
    });
    await eventually(async () => expect(await stage.requests("renamed-hub")).toHaveLength(2));
    await stage.expectOne("renamed-hub");
    await again.stop();
  });

  it.each([
    ["kubeconfig", "nonsense"],
    ["kubeconfig", null],
    ["tls.key", null],
    ["tls.crt", "nonsense"],
  ])("an identity that somebody damaged is renewed without a person: %s becomes %j", async (key, text) => {
    const stage = stageOf();
    const name = `damaged-${key.replace(".", "-")}-${text === null ? "gone" : "bad"}`;
    const agent = await joined(name);
    const before = await stage.stored(name, "agent-name");
    await put(name, key, text);
    await eventually(async () => {
      parseCertificate(await stage.stored(name, "tls.crt"));
      expect(await stage.stored(name, "tls.key")).toContain("PRIVATE KEY");
      expect(await stage.stored(name, "kubeconfig")).toContain("client-key: tls.key");
    });
    await stage.untilNextBeat(name);
    expect(await stage.stored(name, "agent-name")).toBe(before);
    await stage.expectOne(name);
    await agent.stop();
  });

  it("an identity that somebody deleted comes back without a person", async () => {
    const stage = stageOf();
    const agent = await joined("deleted");
    const before = await stage.stored("deleted", "agent-name");
    await stage.spoke.client.delete(Secret, secretOf("deleted"));
    await eventually(async () => expect(await stage.stored("deleted", "tls.crt")).not.toBe(""));
    expect(await stage.stored("deleted", "agent-name")).toBe(before);
    await stage.untilNextBeat("deleted");
    await agent.stop();
  });

  it("a bootstrap kubeconfig that is of no use is waited out: nonsense, then a stranger's token, then a good one", async () => {
    const stage = stageOf();
    const stopping = new AbortController();
    let tell: (text: string | undefined) => void = () => {};
    const good = await stage.bootstrap();
    const withToken = (token: string) =>
      kubeconfigText({ ...good, users: good.users.map((user) => ({ ...user, token })) });
    const lines: string[] = [];
    const log = stage.canary.log("the agent of patient");
    const ended = runRegistration({
      clusterName: "patient",
      spoke: stage.spoke.client,
      namespace: stage.namespaceOf("patient"),
      endpoints: [],
      bootstrap: (next) => {
        tell = next;
        next("{ this is no kubeconfig");
        return () => {};
      },
      clock: systemClock,
      log: {
        ...log,
        warn(message, fields) {
          lines.push(`${message} ${fields?.error instanceof Error ? fields.error.message : ""}`);
          log.warn(message, fields);
        },
      },
      signal: stopping.signal,
    });
    await eventually(() => expect(lines.join("\n")).toContain("the bootstrap kubeconfig is of no use"));
    tell(withToken("nobody-knows-this-token"));
    await eventually(() => expect(lines.join("\n")).toContain("does not know the token in the bootstrap kubeconfig"));
    tell(kubeconfigText(good));
    await stage.admit("patient");
    await stage.untilWorking("patient");
    stopping.abort();
    await ended;
  });

  it("the hub's authority is learned from the hub itself, and from then on trusted, without a new certificate", async () => {
    const stage = stageOf();
    await stage.openAuthority();
    const config = await stage.bootstrap();
    // The bootstrap kubeconfig is of another time: beside the authority that the hub has, it names one that is gone.
    const gone = createCertificateAuthority({ commonName: "gone", now: new Date() }).certificate;
    const clusters = config.clusters.map((cluster) => ({ ...cluster, ca: { pem: gone + stage.hub.authority } }));
    const bootstrap = kubeconfigText({ ...config, clusters });
    // One that has just joined was told whom to trust; one that is started later may have missed something.
    await (await joined("learns", { bootstrapKubeconfig: bootstrap })).stop();
    const agent = await stage.start("learns", { clusterName: "learns", bootstrapKubeconfig: bootstrap });
    await eventually(async () => {
      const [cluster] = parseKubeconfig(await stage.stored("learns", "kubeconfig"), "the Secret").clusters;
      const trusted = cluster?.ca && "pem" in cluster.ca ? cluster.ca.pem : "";
      expect(parseCertificates(trusted).map(({ serial }) => serial)).toEqual(
        parseCertificates(stage.hub.authority).map(({ serial }) => serial),
      );
    });
    await stage.untilNextBeat("learns");
    expect(await stage.requests("learns")).toHaveLength(1);
    await stage.expectOne("learns");
    await agent.stop();
  });

  describe("with another hub", () => {
    let other: TestServer;
    const stopping = new AbortController();
    let hubEnded: Promise<void> = Promise.resolve();
    beforeAll(async () => {
      other = await start("other-hub");
      await prepareHub(other.client);
      const log = stageOf().canary.log("the other hub");
      hubEnded = runHub({ client: other.client, clock: systemClock, log, signal: stopping.signal });
    }, 180_000);
    afterAll(async () => {
      stopping.abort();
      await hubEnded;
      await other?.close();
    });

    it("in its bootstrap kubeconfig an agent goes over to it, under the names that it had", async () => {
      const stage = stageOf();
      await (await joined("moves")).stop();
      const agent = await stage.stored("moves", "agent-name");
      const elsewhere = kubeconfigText(await bootstrapKubeconfig(other.client, other.authority));
      stage.canary.learnKubeconfig("the other bootstrap kubeconfig", elsewhere);
      const moved = await stage.start("moves", { clusterName: "moves", bootstrapKubeconfig: elsewhere });
      await stage.admit("moves", other.client);
      await eventually(async () => expect(await stage.stored("moves", "kubeconfig")).toContain(other.url));
      expect(await stage.stored("moves", "agent-name")).toBe(agent);
      await moved.stop();
    });
  });
}
