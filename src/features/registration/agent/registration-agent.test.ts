import { afterEach, describe, expect, it } from "vitest";
import { CertificateSigningRequest } from "#api/certificates";
import { ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { Namespace, Secret, ServiceAccount } from "#api/core";
import { KubeError, parseKubeconfig } from "#kube";
import { parseCertificateRequest } from "#lib/pki";
import { AGENT_SECRET, AgentStage } from "../../../../test/support/agent-stage.ts";
import { fakeCluster } from "../../../../test/support/index.ts";
import { hubAccess } from "./hub-identity.ts";
import type { RegistrationAgentOptions } from "./registration-agent.ts";

const HOUR = 3_600_000;
const WISHES = {
  endpoints: [{ url: "https://spoke:6443", caBundle: "Q0E=" }],
  leaseDurationSeconds: 3,
};

let stages: Stage[] = [];
afterEach(async () => {
  await Promise.all(stages.map((stage) => stage.stop()));
  stages = [];
});

class Stage extends AgentStage {
  constructor() {
    super();
    stages.push(this);
  }

  override start(options: Partial<RegistrationAgentOptions> = {}): () => Promise<void> {
    return super.start({ ...WISHES, ...options });
  }

  deny(): void {
    const [request] = this.requests();
    if (!request) throw new Error("nobody asked");
    const conditions = [{ type: "Denied", status: "True", message: "not you" } as const];
    this.hub.put(CertificateSigningRequest, { ...request, status: { conditions } });
  }

  /** Until there is an identity; nobody has accepted the cluster. */
  override async join(): Promise<void> {
    await this.until("a request", () => this.requests().length > 0);
    this.sign();
    await this.until("an identity", () => this.connections.length === 2);
  }
}

describe("a cluster that joins", () => {
  it("asks once, with the bootstrap identity, and waits", async () => {
    const stage = new Stage();
    stage.start();
    await stage.until("a request", () => stage.requests().length > 0);
    stage.clock.advance(2 * HOUR);
    await stage.settle();

    expect(stage.hub.read(ManagedCluster, "c1")?.spec).toEqual({
      managedClusterClientConfigs: [{ url: "https://spoke:6443", caBundle: "Q0E=" }],
      leaseDurationSeconds: 3,
    });
    expect(stage.connections).toEqual([stage.bootstrap()]);
    const { data = {} } = stage.spoke.read(Secret, AGENT_SECRET) ?? {};
    expect(Object.keys(data).sort()).toEqual(["agent-name", "cluster-name"]);
    expect(stage.spoke.read(Namespace, "open-cluster-management-agent")).toBeDefined();
    const [request, second] = stage.requests();
    expect(second).toBeUndefined();
    expect(request).toMatchObject({
      metadata: { generateName: "c1-", labels: { "open-cluster-management.io/cluster-name": "c1" } },
      spec: {
        signerName: "kubernetes.io/kube-apiserver-client",
        usages: ["digital signature", "key encipherment", "client auth"],
      },
    });
    const { subject } = parseCertificateRequest(Buffer.from(request?.spec.request ?? "", "base64").toString());
    expect(subject.commonName).toMatch(/^system:open-cluster-management:c1:[a-z0-9]{5}$/);
    expect(subject.organizations).toEqual([
      "system:open-cluster-management:c1",
      "system:open-cluster-management:managed-clusters",
    ]);
  });

  it("stores its identity and changes over to it", async () => {
    const stage = new Stage();
    stage.start();
    await stage.join();
    expect(stage.stored("cluster-name")).toBe("c1");
    expect(stage.stored("agent-name")).toMatch(/^[a-z0-9]{5}$/);
    expect(stage.stored("kubeconfig")).toContain("client-key: tls.key");
    expect(stage.stored("kubeconfig")).not.toContain("bootstrap-token");
    expect(stage.connections[1]).not.toContain("bootstrap-token");

    stage.accept();
    await stage.until("joined", () => stage.condition("ManagedClusterConditionAvailable")?.status === "True");
    expect(stage.condition("ManagedClusterJoined")?.status).toBe("True");
    await stage.until("a beat", () => !!stage.hub.read(Lease, "c1/managed-cluster-lease")?.spec?.renewTime);
  });

  it("asks again later after a refusal", async () => {
    const stage = new Stage();
    stage.start();
    await stage.until("a request", () => stage.requests().length === 1);
    stage.deny();
    await stage.settle();
    expect(stage.requests()).toHaveLength(1);
    stage.clock.advance(5 * 60_000);
    await stage.until("another request", () => stage.requests().length === 2);
  });

  it("stops asking when ten requests lie open", async () => {
    const stage = new Stage();
    for (let i = 0; i < 10; i++) {
      stage.hub.put(CertificateSigningRequest, {
        metadata: { name: `c1-old${i}`, labels: { "open-cluster-management.io/cluster-name": "c1" } },
        spec: { request: "", signerName: "kubernetes.io/kube-apiserver-client" },
      });
    }
    stage.start();
    await stage.until("the cluster", () => stage.hub.read(ManagedCluster, "c1") !== undefined);
    await stage.settle();
    expect(stage.requests()).toHaveLength(10);
  });

  it("goes on when the hub is not there at first", async () => {
    const stage = new Stage();
    stage.hub.beforeWrite(() => {
      throw new KubeError("unreachable", "nobody answers");
    });
    stage.start();
    await stage.until("a try", () => stage.hub.writes.length > 0);
    await stage.settle();
    stage.hub.beforeWrite(() => {});
    stage.clock.advance(10_000);
    await stage.until("a request", () => stage.requests().length > 0);
  });
});

describe("a cluster that has joined", () => {
  it("asks for nothing when its agent starts again", async () => {
    const stage = new Stage();
    const stop = stage.start();
    await stage.join();
    await stop();
    stage.connections.length = 0;

    stage.start();
    await stage.until("a connection", () => stage.connections.length > 0);
    await stage.settle();
    expect(stage.connections[0]).not.toContain("bootstrap-token");
    expect(stage.requests()).toHaveLength(1);
    expect(stage.hub.writes.filter(({ kind, verb }) => kind === "ManagedCluster" && verb === "create")).toHaveLength(1);
  });

  it("renews its identity in time, under its own name, and changes over", async () => {
    const stage = new Stage();
    stage.start();
    await stage.join();
    const first = stage.stored("tls.crt");
    const agent = stage.stored("agent-name");
    await stage.settle();

    stage.clock.advance(0.8 * HOUR - 1);
    await stage.settle();
    expect(stage.requests()).toHaveLength(1);
    stage.clock.advance(1);
    await stage.until("a renewal", () => stage.requests().length === 2);
    stage.sign();
    await stage.until("the change", () => stage.connections.length === 3);

    expect(stage.stored("tls.crt")).not.toBe(first);
    expect(stage.stored("agent-name")).toBe(agent);
    expect(stage.connections.filter((text) => text.includes("bootstrap-token"))).toHaveLength(1);
    const conditions = stage.hub.read(ManagedCluster, "c1")?.status?.conditions;
    expect(conditions).toMatchObject([
      { type: "ClusterCertificateRotated", status: "True", reason: "ClientCertificateUpdated" },
    ]);
  });

  it("asks to join anew when its identity ran out", async () => {
    const stage = new Stage();
    stage.start();
    await stage.join();
    await stage.settle();
    stage.clock.advance(2 * HOUR);
    await stage.until("the bootstrap identity", () => stage.connections.length === 3);
    expect(stage.connections[2]).toBe(stage.bootstrap());
  });

  it("gets its identity back without a person when somebody deletes it", async () => {
    const stage = new Stage();
    stage.start();
    await stage.join();
    await stage.settle();
    stage.spoke.drop(Secret, AGENT_SECRET);
    await stage.until("a request", () => stage.requests().length === 2);
    stage.sign();
    await stage.until("the change", () => stage.connections.length === 3);
    expect(stage.connections.filter((text) => text.includes("bootstrap-token"))).toHaveLength(1);
  });
});

describe("access to a cluster that has joined", () => {
  const granted = (stage: Stage) =>
    stage.hub.read(ManagedCluster, "c1")?.metadata.annotations?.["access.capstan.dev/cluster-role"];

  it("is prepared once the hub has made room, and ends with the next run that does not grant it", async () => {
    const stage = new Stage();
    const stop = stage.start({ grantAccess: "view" });
    await stage.join();
    stage.accept();
    expect(granted(stage)).toBe("view");
    stage.hub.put(Secret, { metadata: { name: "capstan-cluster-access", namespace: "c1" } });
    const account = () => stage.spoke.read(ServiceAccount, "open-cluster-management-agent/cluster-access");
    await stage.until("a service account", () => account() !== undefined);
    await stop();

    stage.start();
    await stage.until("the withdrawal", () => account() === undefined && granted(stage) === undefined);
  });
});

describe("a cluster without a name", () => {
  const nameless = { clusterName: "" };
  const kept = (stage: Stage) => stage.stored("cluster-name");

  it("gets one of its own, which the next run finds", async () => {
    const stage = new Stage();
    const stop = stage.start(nameless);
    await stage.until("a request", () => stage.requests().length > 0);
    const name = kept(stage);
    expect(name).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(stage.hub.readAll(ManagedCluster).map(({ metadata }) => metadata.name)).toEqual([name]);
    await stop();
    stage.start(nameless);
    await stage.until("another request", () => stage.requests().length > 1);
    expect(kept(stage)).toBe(name);
    expect(stage.hub.readAll(ManagedCluster)).toHaveLength(1);
  });

  it("has the name of the identity that lies there", async () => {
    const stage = new Stage();
    const stop = stage.start();
    await stage.join();
    await stop();
    stage.start(nameless);
    await stage.until("a connection with the identity", () => stage.connections.length === 3);
    expect(stage.connections[2]).not.toContain("bootstrap-token");
    expect(kept(stage)).toBe("c1");
  });
});

describe("an agent that is at home elsewhere", () => {
  it("keeps its identity there, and nothing on the spoke", async () => {
    const stage = new Stage();
    const home = fakeCluster({ clock: stage.clock, name: "home" });
    let started = 0;
    stage.start({ home, namespace: "k", onStart: () => started++ });
    await stage.until("a request", () => stage.requests().length > 0);
    stage.sign();
    await stage.until("an identity", () => stage.connections.length === 2);
    expect(home.read(Secret, "k/hub-kubeconfig-secret")?.data).toHaveProperty(["tls.crt"]);
    expect(home.read(Namespace, "k")).toBeDefined();
    expect(stage.spoke.readAll(Secret)).toEqual([]);
    expect(stage.spoke.readAll(Namespace)).toEqual([]);
    expect(started).toBe(1);
  });
});

describe("what others may know of the identity", () => {
  it("is nothing before there is one, and then a way to the hub that stands for itself", async () => {
    const stage = new Stage();
    expect(hubAccess(undefined)).toBeUndefined();
    stage.start({ clusterName: "" });
    await stage.until("a name", () => stage.spoke.read(Secret, AGENT_SECRET) !== undefined);
    expect(hubAccess(stage.spoke.read(Secret, AGENT_SECRET))).toBeUndefined();
    await stage.join();
    const access = hubAccess(stage.spoke.read(Secret, AGENT_SECRET));
    expect(access?.clusterName).toBe(stage.stored("cluster-name"));
    const { users, clusters } = parseKubeconfig(access?.kubeconfig ?? "", "the Secret");
    expect(clusters[0]?.server).toBe("https://hub:6443");
    expect(users[0]).toMatchObject({ cert: { pem: stage.stored("tls.crt") }, key: { pem: stage.stored("tls.key") } });
  });
});
