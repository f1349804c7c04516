/**
 * What becomes of a cluster when the hub shows another certificate than its agents trust, and when the hub was away for
 * longer than a certificate lives; with servers that really change, and certificates that really end.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServiceAccount } from "#api/core";
import { Klusterlet } from "#api/operator";
import { kubeconfigText, writeKubeconfig } from "#kube";
import { systemClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { parseCertificate } from "#lib/pki";
import { build, start as startCommand } from "../../support/command.ts";
import { eventually } from "../../support/eventually.ts";
import { Relay } from "../../support/relay.ts";
import type { StartRenewable } from "../../support/renewable-servers.ts";
import type { StartServer } from "../../support/servers.ts";
import { OperatorStage } from "../operator-klusterlet/stage.ts";
import { AGENTS, AuthorityStage, hastyClock } from "./stage.ts";

/** As short as a certificate can be that an agent still renews in time on a busy machine. */
const SHORT_SECONDS = 20;

export interface AuthoritySuite {
  readonly startHub: StartRenewable;
  readonly startSpoke: StartServer;
}

export function registrationAuthoritySuite({ startHub, startSpoke }: AuthoritySuite): void {
  beforeAll(() => build());
  describe("a hub with another authority", () => authorityCases(startHub, startSpoke));
  describe("a hub that was away for longer than a certificate lives", () => outageCases(startHub, startSpoke));
}

function authorityCases(startHub: StartRenewable, startSpoke: StartServer): void {
  const [managed, bare] = ["with-secret", "with-file"];
  const bareNamespace = "bare-agent";
  let stage: AuthorityStage;
  let lines: string[];
  let said: () => string;
  let bootstrapFile: string;

  beforeAll(async () => {
    stage = await AuthorityStage.open(startHub, startSpoke);
    const { faults, spokeFile } = stage;
    await faults.openAuthority();
    ({ lines } = await stage.startWithSecret(managed, hastyClock));
    bootstrapFile = stage.file("bootstrap.kubeconfig");
    await writeKubeconfig(bootstrapFile, await faults.bootstrap());
    const agent = startCommand(
      ...["agent", "--spoke-kubeconfig", spokeFile, "--bootstrap-kubeconfig", bootstrapFile],
      ...["--cluster-name", bare, "--namespace", bareNamespace],
    );
    said = () => agent.said();
    stage.onStop(async () => {
      agent.child.kill("SIGTERM");
      const { stderr } = await agent.ended;
      faults.canary.hear("the agent with a file", stderr);
    });
    await Promise.all([managed, bare].map((name) => stage.admitBeating(name)));
  }, 180_000);
  afterAll(() => stage?.close(), 120_000);

  it("that names both for a while needs nobody: agents learn the next one, and lose none of their identity", async () => {
    const { hub, faults, second } = stage;
    const before = await stage.identity(managed, AGENTS);
    const both = hub.signer.certificate + second.certificate;
    await hub.present({ by: hub.signer, told: both });
    await eventually(() => stage.expectTrust(AGENTS, [hub.signer, second]));
    await hub.present({ by: second, told: both });
    await faults.untilNextBeat(managed);
    await hub.present({ by: second, told: second.certificate });
    await eventually(() => stage.expectTrust(AGENTS, [second]));
    await faults.untilNextBeat(managed);
    await faults.untilWorking(managed);
    expect(await stage.identity(managed, AGENTS)).toEqual(before);
    expect(await faults.requests(managed)).toHaveLength(1);
    expect(lines.join("\n")).not.toContain("is not whom the agent trusts");
  });

  it("from one day to the next is told by the agent, the Klusterlet and doctor, with the command that mends it", async () => {
    const { hub, faults, third } = stage;
    await hub.present({ by: third, told: third.certificate });
    const command = `capstan rejoin --cluster-name ${managed} --context SPOKE --hub-context HUB`;
    await eventually(() => {
      expect(lines.join("\n")).toContain("is not whom the agent trusts");
      expect(lines.join("\n")).toContain(command);
    });
    await eventually(() => expect(said()).toContain("is not whom the agent trusts"));

    const operator = await OperatorStage.start(async () => ({ ...faults.spoke, close: async () => {} }), "spoke");
    stage.onStop(() => operator.stop());
    await operator.create("klusterlet", { clusterName: managed });
    await eventually(async () => {
      const { status } = await operator.client.get(Klusterlet, "klusterlet");
      const condition = findCondition(status?.conditions, "HubConnectionDegraded");
      expect(condition).toMatchObject({ status: "True", message: expect.stringContaining(command) });
      expect(condition?.message).toContain("is not whom");
    });

    const { code, stdout } = await stage.command("doctor", "--kubeconfig", stage.spokeFile);
    expect(code).toBe(1);
    expect(stdout).toContain("what answers there is not whom the agent trusts");
    expect(stdout).toContain(command);
  });

  it("is trusted again after that command: the same cluster, the same agent, and no new certificate", async () => {
    const { faults, third } = stage;
    const before = await stage.identity(managed, AGENTS);
    const { code, stderr } = await stage.rejoin(managed);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("is back and available") });
    expect(await stage.identity(managed, AGENTS)).toEqual(before);
    await eventually(() => stage.expectTrust(AGENTS, [third]));
    expect(await faults.requests(managed)).toHaveLength(1);
    await eventually(async () => {
      const { status } = await faults.spoke.client.get(Klusterlet, "klusterlet");
      expect(findCondition(status?.conditions, "HubConnectionDegraded")?.status).toBe("False");
    });
  });

  it("is trusted again by an agent that no Klusterlet runs, when the command is told of its file", async () => {
    const { faults, third } = stage;
    const before = await stage.identity(bare, bareNamespace);
    const refused = await stage.rejoin(bare);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("name that file with --bootstrap-kubeconfig");
    const { code, stderr } = await stage.rejoin(bare, "--bootstrap-kubeconfig", bootstrapFile);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("is back and available") });
    expect(await stage.identity(bare, bareNamespace)).toEqual(before);
    await eventually(() => stage.expectTrust(bareNamespace, [third]));
    expect(await faults.requests(bare)).toHaveLength(1);
  });

  it("makes nobody tell a secret", () => stage.faults.expectSilence({ least: { heard: 50, secrets: 3 } }));
}

function outageCases(startHub: StartRenewable, startSpoke: StartServer): void {
  const name = "long-away";
  let stage: AuthorityStage;
  let relay: Relay;

  beforeAll(async () => {
    stage = await AuthorityStage.open(startHub, startSpoke, SHORT_SECONDS);
    relay = await Relay.to(stage.hub.url);
  }, 180_000);
  afterAll(async () => {
    await relay?.cut();
    await stage?.close();
  }, 120_000);

  it("gets its cluster back as the same, when the certificate has ended, and the token too", async () => {
    const { faults, hub } = stage;
    const direct = await faults.bootstrap();
    const through = (server: string) => server.replace(new URL(server).origin, relay.url);
    const clusters = direct.clusters.map((cluster) => ({ ...cluster, server: through(cluster.server) }));
    const file = stage.file("bootstrap.kubeconfig");
    await writeKubeconfig(file, { ...direct, clusters });
    const agent = startCommand(
      ...["agent", "registration", "--spoke-kubeconfig", stage.spokeFile, "--bootstrap-kubeconfig", file],
      ...["--cluster-name", name, "--namespace", AGENTS],
    );
    stage.onStop(async () => {
      agent.child.kill("SIGTERM");
      await agent.ended;
    });
    await stage.admitBeating(name);
    const before = await stage.identity(name, AGENTS);
    const notAfter = async () => parseCertificate(await stage.stored(AGENTS, "tls.crt")).notAfter.getTime();

    await relay.cut();
    // Nobody can have renewed it meanwhile, and its time goes by.
    const end = await notAfter();
    await eventually(() => expect(systemClock.now().getTime()).toBeGreaterThan(end));
    expect(await notAfter()).toBe(end);
    // The tokens of an account go with it, and the next one of that name is another.
    await renewAccount(stage);
    await relay.mend();
    await eventually(() => expect(agent.said()).toContain("does not know the token in the bootstrap kubeconfig"));

    const dry = await stage.rejoin(name, "--bootstrap-kubeconfig", file, "--dry-run");
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining(`of agent ${before.agentName}`) });
    const { code, stderr } = await stage.rejoin(name, "--bootstrap-kubeconfig", file);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("is back and available") });
    expect(stderr).toMatch(new RegExp(`CertificateSigningRequest ${name}-\\w+: approved`));
    expect(await stage.identity(name, AGENTS)).toEqual(before);
    expect(await notAfter()).toBeGreaterThan(end);
    expect(hub.url).not.toBe(relay.url);
    faults.canary.hear("the agent", agent.said());
    faults.canary.learnKubeconfig("the first bootstrap kubeconfig", kubeconfigText(direct));
    await faults.expectSilence({ least: { heard: 10, secrets: 2 } });
  });
}

async function renewAccount({ hub }: AuthorityStage): Promise<void> {
  const [namespace, account] = ["open-cluster-management", "agent-registration-bootstrap"];
  await hub.client.delete(ServiceAccount, `${namespace}/${account}`);
  await hub.client.create(ServiceAccount, { metadata: { name: account, namespace } });
}
