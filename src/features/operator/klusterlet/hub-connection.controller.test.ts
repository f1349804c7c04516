import { describe, expect, it } from "vitest";
import { Secret } from "#api/core";
import { Klusterlet } from "#api/operator";
import { type Client, type Connection, KubeError, kubeconfigFor, kubeconfigText } from "#kube";
import { ManualClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { createCertificateAuthority, generateKeyPair, issueCertificate } from "#lib/pki";
import { fakeCluster, startControllers } from "../../../../test/support/index.ts";
import { hubConnectionController } from "./hub-connection.controller.ts";

const AGENTS = "open-cluster-management-agent";

function data(content: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(content).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
}

const kubeconfig = kubeconfigText(kubeconfigFor({ name: "hub", server: "https://hub:6443", token: "t" }));
const bootstrap = {
  metadata: { name: "bootstrap-hub-kubeconfig", namespace: AGENTS },
  data: data({ kubeconfig }),
};
const identity = (content: Record<string, string> = { kubeconfig, "cluster-name": "c1" }) => ({
  metadata: { name: "hub-kubeconfig-secret", namespace: AGENTS },
  data: data(content),
});

class Stage {
  readonly clock = new ManualClock("2026-01-01T00:00:00Z");
  readonly cluster = fakeCluster({ clock: this.clock }, [Klusterlet, { metadata: { name: "k" } }], [Secret]);
  /** What the hub was asked, in words. */
  readonly asked: string[] = [];
  /** What the hub says of a question. */
  answer: (question: { verb?: string; resource?: string }) => boolean = () => true;
  readonly running = startControllers(
    [
      hubConnectionController({
        cluster: this.cluster,
        connect: (connection) => this.#hub(connection),
        clock: this.clock,
      }),
    ],
    { clock: this.clock },
  );

  #hub({ server }: Connection): Client {
    const create = async (_: unknown, { spec }: { spec: { resourceAttributes: Record<string, string> } }) => {
      const { verb = "", resource = "" } = spec.resourceAttributes;
      this.asked.push(`${verb} ${resource} on ${server}`);
      return { status: { allowed: this.answer({ verb, resource }) } };
    };
    return { create, close() {} } as unknown as Client;
  }

  async said() {
    await this.running.quiet();
    return findCondition(this.cluster.read(Klusterlet, "k")?.status?.conditions, "HubConnectionDegraded");
  }
}

describe("what is said of the way to the hub", () => {
  it.each([
    ["BootstrapSecretMissing,HubKubeConfigSecretMissing", []],
    ["BootstrapSecretFunctional,HubKubeConfigSecretMissing", [bootstrap]],
    ["BootstrapSecretError,HubKubeConfigSecretMissing", [{ ...bootstrap, data: {} }]],
    ["BootstrapSecretMissing,HubKubeConfigMissing", [identity({ "cluster-name": "c1" })]],
    ["BootstrapSecretFunctional,ClusterNameMissing", [bootstrap, identity({ kubeconfig })]],
    ["BootstrapSecretFunctional,HubKubeConfigError", [bootstrap, identity({ kubeconfig: "{", "cluster-name": "c1" })]],
  ])("%s", async (reason, secrets) => {
    const stage = new Stage();
    for (const secret of secrets) stage.cluster.put(Secret, secret as typeof bootstrap);
    expect(await stage.said()).toMatchObject({ status: "True", reason });
    await stage.running.stop();
  });

  it("is fine when the hub allows all that agents do, and the bootstrap Secret is not even tried then", async () => {
    const stage = new Stage();
    stage.cluster.put(Secret, bootstrap);
    stage.cluster.put(Secret, identity());
    expect(await stage.said()).toMatchObject({ status: "False", reason: "HubConnectionFunctional" });
    expect(stage.asked).toContain("update manifestworks on https://hub:6443");
    expect(stage.asked.filter((question) => question.startsWith("create certificatesigningrequests"))).toEqual([]);
    await stage.running.stop();
  });

  it("names the first thing that the hub does not allow", async () => {
    const stage = new Stage();
    stage.cluster.put(Secret, bootstrap);
    stage.cluster.put(Secret, identity());
    stage.answer = ({ resource }) => resource !== "leases";
    expect(await stage.said()).toMatchObject({
      status: "True",
      reason: "BootstrapSecretFunctional,HubKubeConfigUnauthorized",
      message: expect.stringContaining("get leases.coordination.k8s.io managed-cluster-lease in namespace c1"),
    });
    await stage.running.stop();
  });

  it("says why a hub cannot be asked", async () => {
    const stage = new Stage();
    stage.cluster.put(Secret, identity());
    stage.answer = () => {
      throw new KubeError("unreachable", "nobody answers");
    };
    expect(await stage.said()).toMatchObject({
      reason: "BootstrapSecretMissing,HubKubeConfigError",
      message: expect.stringContaining("nobody answers"),
    });
    await stage.running.stop();
  });
});

describe("a lost identity", () => {
  const REJOIN = "restore it with `capstan rejoin --cluster-name c1 --context SPOKE --hub-context HUB`";
  const authority = createCertificateAuthority({ commonName: "hub", now: new Date("2025-01-01T00:00:00Z") });
  const ended = issueCertificate({
    ca: authority,
    subject: { commonName: "system:open-cluster-management:c1:a" },
    publicKey: generateKeyPair().publicKey,
    usages: ["client auth"],
    notBefore: new Date("2025-01-01T00:00:00Z"),
    notAfter: new Date("2025-12-31T00:00:00Z"),
  });
  const said = async (secrets: (typeof bootstrap)[], answer?: () => never) => {
    const stage = new Stage();
    for (const secret of secrets) stage.cluster.put(Secret, secret);
    if (answer) stage.answer = answer;
    const claim = await stage.said();
    await stage.running.stop();
    return claim;
  };
  const refused = () => {
    throw new KubeError("status", "who are you? (401 Unauthorized)", { code: 401 });
  };
  const untrusted = () => {
    throw new KubeError("unreachable", "POST x: cannot connect: unable to verify the first certificate");
  };

  it("whose certificate has ended is told with the day, and the command that restores it", async () => {
    expect(await said([identity({ kubeconfig, "cluster-name": "c1", "tls.crt": ended })])).toMatchObject({
      status: "True",
      reason: "BootstrapSecretMissing,HubKubeConfigError",
      message: expect.stringMatching(/certificate in .* has ended on 2025-12-31T00:00:00Z; restore it with/),
    });
  });

  it("that the hub does not know, or a hub that is not trusted, names the command", async () => {
    const one = await said([identity()], refused);
    expect(one?.message).toMatch(/The hub does not know who comes with Secret .*hub-kubeconfig-secret; restore/);
    expect(one?.message).toContain(REJOIN);
    const other = await said([identity()], untrusted);
    expect(other?.message).toMatch(/not whom Secret .* trusts: unable to verify the first certificate; restore it/);
  });

  it("only has to be approved while the agent may still ask", async () => {
    const claim = await said([bootstrap, identity({ kubeconfig, "cluster-name": "c1", "tls.crt": ended })]);
    expect(claim?.reason).toBe("BootstrapSecretFunctional,HubKubeConfigError");
    expect(claim?.message).toContain("approve it with `capstan accept --clusters c1` on the hub");
  });
});

describe("the hub is asked", () => {
  it("once, however often the Klusterlet changes, and again after a while", async () => {
    const stage = new Stage();
    stage.cluster.put(Secret, identity());
    await stage.said();
    const once = stage.asked.length;
    stage.cluster.put(Klusterlet, { metadata: { name: "k" }, spec: { clusterName: "c1" } });
    stage.cluster.put(Klusterlet, { metadata: { name: "k" }, spec: { clusterName: "c2" } });
    await stage.said();
    expect(stage.asked).toHaveLength(once);
    stage.clock.advance(5 * 60_000);
    await stage.said();
    expect(stage.asked).toHaveLength(2 * once);
    await stage.running.stop();
  });

  it("soon again while the cluster waits to be accepted", async () => {
    const stage = new Stage();
    stage.cluster.put(Secret, bootstrap);
    stage.cluster.put(Secret, identity());
    stage.answer = ({ resource }) => resource !== "manifestworks";
    await stage.said();
    stage.answer = () => true;
    stage.clock.advance(30_000);
    expect(await stage.said()).toMatchObject({ status: "False" });
    await stage.running.stop();
  });

  it("at once when a Secret is another, but not more than once a second", async () => {
    const stage = new Stage();
    expect((await stage.said())?.reason).toBe("BootstrapSecretMissing,HubKubeConfigSecretMissing");
    stage.cluster.put(Secret, identity());
    await stage.said();
    expect(stage.asked).toEqual([]);
    stage.clock.advance(1_000);
    expect(await stage.said()).toMatchObject({ status: "False" });
    await stage.running.stop();
  });

  it("never about a Klusterlet that goes", async () => {
    const stage = new Stage();
    const deletionTimestamp = "2026-01-01T00:00:00Z";
    stage.cluster.put(Klusterlet, { metadata: { name: "k", deletionTimestamp, finalizers: ["x/y"] } });
    stage.cluster.put(Secret, identity());
    expect(await stage.said()).toBeUndefined();
    expect(stage.asked).toEqual([]);
    await stage.running.stop();
  });
});
