import { describe, expect, it } from "vitest";
import type { Deployment } from "#api/apps";
import { CertificateSigningRequest } from "#api/certificates";
import { AgentIdentity, ClusterCondition, ClusterLabel, ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { ConfigMap, type Pod } from "#api/core";
import { apiVersionOf, type Condition, type ConditionStatus, type Kind, type KubeObject } from "#api/meta";
import { ClusterManager, Klusterlet } from "#api/operator";
import { createCertificateRequest, generateKeyPair } from "#lib/pki";
import type { Finding } from "./finding.ts";
import { type HubFacts, hubFindings } from "./hub-rules.ts";
import { expiryOf } from "./spoke-facts.ts";
import { type KlusterletFacts, spokeFindings } from "./spoke-rules.ts";
import { type Workload, workloadFinding } from "./workloads.ts";

const now = new Date("2026-06-01T12:00:00Z");
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000);
const bad = (findings: readonly Finding[]) =>
  findings.filter(({ level }) => level !== "ok").map(({ level, about, message }) => `${level} ${about}: ${message}`);

function object<T extends KubeObject>(kind: Kind<T>, more: Omit<T, "apiVersion" | "kind">): T {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, ...more } as T;
}

function condition(type: string, status: ConditionStatus, message = ""): Condition {
  return { type, status, reason: "Reason", message, lastTransitionTime: "2026-01-01T00:00:00Z" };
}

function workload(available: number, { replicas = 1, pods = [] as Pod[], isThere = true } = {}): Workload {
  const deployment = {
    spec: { replicas, selector: {}, template: { spec: { containers: [] } } },
    status: { availableReplicas: available },
  } as unknown as Deployment;
  return { key: "ns/program", deployment: isThere ? deployment : undefined, pods };
}

function pod(reason: string): Pod {
  return {
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "capstan:9" }] },
    status: { containerStatuses: [{ name: "c", state: { waiting: { reason } } }] },
  } as unknown as Pod;
}

describe("a program", () => {
  it.each<[Workload, level: Finding["level"], words: string, mend: string]>([
    [workload(1), "ok", "1 of 1 Pods are available", ""],
    [workload(0, { isThere: false }), "broken", "it is not there", "capstan init"],
    [
      workload(0),
      "broken",
      "it has no Pods yet; does the cluster have a node?",
      "kubectl describe deployment -n ns program",
    ],
    [
      workload(0, { pods: [pod("ImagePullBackOff")] }),
      "broken",
      "cannot get its image capstan:9",
      "kubectl describe pods -n ns",
    ],
    [
      workload(0, { pods: [pod("CrashLoopBackOff")] }),
      "broken",
      "CrashLoopBackOff",
      "kubectl logs -n ns deployment/program",
    ],
    [workload(2, { replicas: 3 }), "warning", "2 of 3 Pods", "kubectl describe deployment"],
    [workload(0, { replicas: 0 }), "warning", "scaled to 0", ""],
  ])("%#: is %s", (given, level, words, mend) => {
    const finding = workloadFinding(given, "capstan init");
    expect(finding.level).toBe(level);
    expect(finding.message).toContain(words);
    expect(finding.mend ?? "").toContain(mend);
  });
});

const HEALTHY: HubFacts = {
  missingKinds: [],
  managers: [
    object(ClusterManager, {
      metadata: { name: "cluster-manager" },
      status: {
        conditions: [condition("Applied", "True"), condition("HubRegistrationDegraded", "False")],
      },
    }),
  ],
  operator: workload(1),
  programs: [workload(1)],
  clusters: [],
  leases: new Map(),
  requests: [],
  bindings: [],
  ledgers: [],
  canAsk: { account: true, token: false, tokenExpires: undefined },
  now,
};

const { privateKey: key } = generateKeyPair();

function csr(username: string): CertificateSigningRequest {
  const request = createCertificateRequest({
    subject: { commonName: AgentIdentity.user("c1", "a"), organizations: [AgentIdentity.group("c1")] },
    key,
  });
  return object(CertificateSigningRequest, {
    metadata: { name: "c1-x", labels: { [ClusterLabel.name]: "c1" } },
    spec: {
      request: Buffer.from(request).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
      username,
    },
  });
}
const BOOTSTRAP = "system:serviceaccount:open-cluster-management:agent-registration-bootstrap";

function cluster(conditions: Condition[], spec: ManagedCluster["spec"] = { hubAcceptsClient: true }): ManagedCluster {
  return object(ManagedCluster, { metadata: { name: "c1" }, spec, status: { conditions } });
}
const ACCEPTED = condition(ClusterCondition.HubAccepted, "True");
const JOINED = [ACCEPTED, condition(ClusterCondition.Joined, "True")];
const AVAILABLE = [...JOINED, condition(ClusterCondition.Available, "True")];

function lease(renewed: Date): HubFacts["leases"] {
  const beat = object(Lease, {
    metadata: { name: "managed-cluster-lease", namespace: "c1" },
    spec: { renewTime: renewed.toISOString() },
  });
  return new Map([["c1", beat]]);
}

describe("a hub", () => {
  it.each<[why: string, facts: Partial<HubFacts>, expected: string[]]>([
    ["that works", { clusters: [cluster(AVAILABLE)], leases: lease(ago(10)) }, []],
    [
      "without one of its kinds",
      { missingKinds: ["ClusterProfile"] },
      ["broken the hub: it does not serve ClusterProfile"],
    ],
    [
      "whose operator could not do it",
      {
        managers: [
          object(ClusterManager, {
            metadata: { name: "m" },
            status: { conditions: [condition("Applied", "False", "no right")] },
          }),
        ],
      },
      ["broken ClusterManager m: it could not be made so: no right"],
    ],
    [
      "that nobody has looked at",
      { managers: [object(ClusterManager, { metadata: { name: "m" } })] },
      ["broken ClusterManager m: no operator has looked at it yet"],
    ],
    [
      "with an unknown gate, which is only worth knowing",
      {
        managers: [
          object(ClusterManager, {
            metadata: { name: "m" },
            status: { conditions: [condition("Applied", "True"), condition("ValidFeatureGates", "False", "no X")] },
          }),
        ],
      },
      ["warning ClusterManager m: no X"],
    ],
    [
      "whose programs do not run",
      { programs: [workload(0)] },
      ["broken Deployment ns/program: 0 of 1 Pods are available: it has no Pods yet; does the cluster have a node?"],
    ],
    [
      "that nobody can join",
      { canAsk: { account: false, token: false, tokenExpires: undefined } },
      ["warning new clusters: there is neither a service account nor a token by which they could ask to join"],
    ],
    [
      "whose bootstrap token has ended",
      { canAsk: { account: false, token: true, tokenExpires: ago(60) } },
      ["warning the bootstrap token: it ended 60s ago, so nobody can join with it"],
    ],
    [
      "with clusters that have something to clean up",
      {
        ledgers: [
          object(ConfigMap, {
            metadata: { name: "capstan-detach-ledger", namespace: "c1" },
            data: { b: "{}", a: "{}" },
          }),
          object(ConfigMap, { metadata: { name: "capstan-detach-ledger", namespace: "c2" } }),
        ],
      },
      [
        "warning cluster c1: it was given up before 2 works were cleaned up on it (a, b); its work agent does it when it comes back",
      ],
    ],
    [
      "with a cluster at the door",
      { clusters: [cluster([], {})] },
      ["warning ManagedCluster c1: it waits to be let in"],
    ],
    [
      "whose controllers do not act",
      { clusters: [cluster([])] },
      ["broken ManagedCluster c1: it was let in, but no controller of the hub has acted on it"],
    ],
    [
      "with a certificate to approve",
      { clusters: [cluster([ACCEPTED])], requests: [csr(BOOTSTRAP)] },
      ["warning ManagedCluster c1: it was let in, but its certificate waits to be approved"],
    ],
    [
      "with an agent that never came",
      { clusters: [cluster([ACCEPTED])] },
      ["broken ManagedCluster c1: it was let in, but its agent has not come since"],
    ],
    [
      "with a silent agent",
      { clusters: [cluster(AVAILABLE)], leases: lease(ago(301)) },
      ["broken ManagedCluster c1: its agent has been silent for 5m1s"],
    ],
    ["that still forgives", { clusters: [cluster(AVAILABLE)], leases: lease(ago(299)) }, []],
    [
      "with a spoke whose API server is down",
      {
        clusters: [cluster([...JOINED, condition(ClusterCondition.Available, "False", "livez")])],
        leases: lease(ago(1)),
      },
      ["broken ManagedCluster c1: its API server does not answer its agent: livez"],
    ],
    [
      "with a wrong clock",
      {
        clusters: [cluster([...AVAILABLE, condition(ClusterCondition.ClockSynced, "False", "10 minutes")])],
        leases: lease(ago(1)),
      },
      ["broken ManagedCluster c1: its clock and the hub's differ: 10 minutes"],
    ],
    [
      "with a spoke that said goodbye",
      {
        clusters: [
          cluster([
            ...JOINED,
            { ...condition(ClusterCondition.Available, "Unknown"), reason: "ManagedClusterUnjoined" },
          ]),
        ],
      },
      ["warning ManagedCluster c1: it was taken out of the fleet on its own side"],
    ],
    [
      "with a request of somebody else",
      { clusters: [cluster(AVAILABLE)], requests: [csr("bob")] },
      ["warning CertificateSigningRequest c1-x: it asks in the name of c1, but comes from bob"],
    ],
    [
      "with an agent that renews",
      { clusters: [cluster(AVAILABLE)], requests: [csr(AgentIdentity.user("c1", "a"))] },
      [],
    ],
  ])("%s", (_, facts, expected) => {
    const findings = hubFindings({ ...HEALTHY, ...facts });
    expect(bad(findings)).toEqual(expected);
    for (const { level, mend } of findings) if (level === "broken") expect(mend).toBeTruthy();
  });
});

const SERVER = "https://hub:6443";
const IDENTITY = { state: "there", server: SERVER, notBefore: ago(86_400), notAfter: ago(-86_400 * 300) } as const;
const ATTACHED: KlusterletFacts = {
  klusterlet: object(Klusterlet, {
    metadata: { name: "klusterlet" },
    status: { conditions: [condition("Applied", "True")] },
  }),
  clusterName: "c1",
  agentNamespace: "agents",
  agents: [workload(1)],
  bootstrap: { state: "there", server: SERVER, tokenExpires: ago(60), isElsewhere: false },
  identity: IDENTITY,
  hub: { state: "answered", cluster: cluster(AVAILABLE) },
};
const NEW: KlusterletFacts = {
  ...ATTACHED,
  bootstrap: { state: "there", server: SERVER, tokenExpires: ago(-60), isElsewhere: false },
  identity: { state: "missing" },
  agents: [workload(1), workload(0, { replicas: 0 })],
  hub: { state: "answered", cluster: cluster([], {}) },
};

describe("a spoke", () => {
  it.each<[why: string, facts: KlusterletFacts, expected: string[]]>([
    ["that works, though its token has long ended", ATTACHED, []],
    [
      "that waits to be let in, with its work agent not started",
      NEW,
      ["warning the hub https://hub:6443: it has not let c1 in yet"],
    ],
    [
      "whose token ended before it was let in",
      { ...NEW, bootstrap: { ...NEW.bootstrap, tokenExpires: ago(60) } as never },
      [
        "broken the bootstrap token: it ended 60s ago, before the hub had let c1 in",
        "warning the hub https://hub:6443: it has not let c1 in yet",
      ],
    ],
    [
      "without a way to ask",
      { ...NEW, bootstrap: { state: "missing" } },
      ["broken Secret agents/bootstrap-hub-kubeconfig: it is not there, so the agent cannot ask the hub"],
    ],
    [
      "with nonsense to ask by",
      { ...NEW, bootstrap: { state: "unreadable" } },
      ["broken Secret agents/bootstrap-hub-kubeconfig: it holds no kubeconfig that makes sense"],
    ],
    [
      "told to find the hub on its own machine",
      {
        ...NEW,
        bootstrap: { state: "there", server: "https://127.0.0.1:1", tokenExpires: undefined, isElsewhere: true },
        hub: { state: "unreachable", cause: "refused" },
      },
      [
        "broken the way to the hub: agents are told to find it at https://127.0.0.1:1, which means the machine that they run on",
        "broken the hub https://127.0.0.1:1: it cannot be reached from here: refused",
      ],
    ],
    [
      "whose hub is down",
      { ...ATTACHED, hub: { state: "unreachable", cause: "refused" } },
      ["broken the hub https://hub:6443: it cannot be reached from here: refused"],
    ],
    [
      "whose hub is somebody else",
      { ...ATTACHED, hub: { state: "untrusted", cause: "self-signed" } },
      ["broken the hub https://hub:6443: what answers there is not whom the agent trusts: self-signed"],
    ],
    [
      "that the hub does not know",
      { ...ATTACHED, hub: { state: "unauthorized" } },
      ["broken the hub https://hub:6443: it does not know what the agent shows to it"],
    ],
    [
      "whose entry the hub does not show",
      { ...ATTACHED, hub: { state: "forbidden" } },
      [
        "broken the hub https://hub:6443: it does not show c1 its own entry: somebody deleted it there, or has not let it in yet",
      ],
    ],
    [
      "whose hub is none",
      { ...NEW, hub: { state: "no hub" } },
      ["broken the hub https://hub:6443: it is no hub: it does not know ManagedClusters"],
    ],
    [
      "that was deleted on the hub",
      { ...ATTACHED, hub: { state: "unknown cluster" } },
      ["broken the hub https://hub:6443: it has no ManagedCluster c1: somebody deleted it there"],
    ],
    [
      "whose certificate has ended",
      { ...ATTACHED, identity: { ...IDENTITY, notAfter: ago(3600) } },
      [
        "broken Secret agents/hub-kubeconfig-secret: the agent's certificate ended 60m ago; it asks for a new one as at the first time",
      ],
    ],
    [
      "whose certificate nobody renews",
      { ...ATTACHED, identity: { ...IDENTITY, notAfter: ago(-3600) } },
      ["warning Secret agents/hub-kubeconfig-secret: the agent's certificate ends in 60m and was not renewed"],
    ],
    [
      "that the hub calls lost",
      {
        ...ATTACHED,
        hub: {
          state: "answered",
          cluster: cluster([...JOINED, condition(ClusterCondition.Available, "Unknown", "silent")]),
        },
      },
      ["broken the hub https://hub:6443: it calls c1 lost: silent"],
    ],
    [
      "whose Klusterlet could not be made so",
      {
        ...ATTACHED,
        klusterlet: object(Klusterlet, {
          metadata: { name: "k" },
          status: { conditions: [condition("Applied", "False", "no right")] },
        }),
      },
      ["broken Klusterlet k: it could not be made so: no right"],
    ],
  ])("%s", (_, facts, expected) => {
    const findings = spokeFindings({ operator: workload(1), klusterlets: [facts], now });
    expect(bad(findings)).toEqual(expected);
    for (const { level, mend } of findings) if (level === "broken") expect(mend).toBeTruthy();
  });
});

describe("the one command that restores an identity", () => {
  const mends = (facts: KlusterletFacts) =>
    spokeFindings({ operator: workload(1), klusterlets: [facts], now })
      .filter(({ level }) => level === "broken")
      .map(({ mend }) => mend);
  const rejoin = "capstan rejoin --cluster-name c1 --context SPOKE --hub-context HUB";

  it.each<[why: string, facts: KlusterletFacts, mend: string[]]>([
    ["a hub with another authority", { ...ATTACHED, hub: { state: "untrusted", cause: "x" } }, [rejoin]],
    [
      "a hub with another authority, to whom runs the agent by hand",
      { ...ATTACHED, klusterlet: undefined, hub: { state: "untrusted", cause: "x" } },
      [`${rejoin} --bootstrap-kubeconfig FILE, where the agent runs`],
    ],
    ["a hub that forgot the certificate", { ...ATTACHED, hub: { state: "unauthorized" } }, [rejoin]],
    [
      "a certificate and a token that ended",
      { ...ATTACHED, identity: { ...IDENTITY, notAfter: ago(60) }, hub: { state: "unauthorized" } },
      [rejoin, rejoin],
    ],
    [
      "a certificate that ended while the agent still may ask",
      { ...ATTACHED, identity: { ...IDENTITY, notAfter: ago(60) } },
      ["capstan accept --clusters c1, on the hub"],
    ],
  ])("is named for %s", (_, facts, expected) => {
    expect(mends(facts)).toEqual(expected);
  });
});

it("reads when a token ends, where it says so", () => {
  const body = Buffer.from(JSON.stringify({ exp: 1_780_000_000 })).toString("base64url");
  expect(expiryOf(`h.${body}.s`)).toEqual(new Date(1_780_000_000_000));
  expect(expiryOf("ocmhub.0123456789abcdef")).toBeUndefined();
  expect(expiryOf("")).toBeUndefined();
});
