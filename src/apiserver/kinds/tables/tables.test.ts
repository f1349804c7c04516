import { describe, expect, it } from "vitest";
import type { DynamicObject, ObjectMeta } from "#api/meta";
import { find } from "../testing/drafts.ts";
import { age } from "./age.ts";

const NOW = new Date("2026-01-02T00:00:00Z");
const META = { name: "x", creationTimestamp: "2026-01-01T23:55:00Z" };

interface Shape extends Record<string, unknown> {
  metadata?: Partial<ObjectMeta>;
}

/** The cells by column, without wide ones unless asked for. */
function cells(kind: string, { metadata, ...rest }: Shape, group?: string, wide = false): Record<string, unknown> {
  const { table, version } = find(kind, group);
  const object: DynamicObject = { apiVersion: version, kind, ...rest, metadata: { ...META, ...metadata } };
  const row = table.row(object, NOW);
  return Object.fromEntries(
    table.columns.flatMap(({ name, priority }, index) => (priority === 0 || wide ? [[name, row[index]]] : [])),
  );
}

describe("ages", () => {
  it("are unknown where there is no time", () => {
    expect(age(undefined, NOW)).toBe("<unknown>");
    expect(age("2026-01-01T23:59:30Z", NOW)).toBe("30s");
  });
});

describe("the status of a Pod", () => {
  const spec = { containers: [{ name: "a" }, { name: "b" }] };
  const running = { ready: true, restartCount: 0, state: { running: {} } };
  const ended = (reason: string, exitCode = 0) => ({
    ready: false,
    restartCount: 0,
    state: { terminated: { reason, exitCode } },
  });
  const init = { ...spec, initContainers: [{ name: "i" }, { name: "j" }] };
  const rows: [why: string, pod: Shape, ready: string, status: string][] = [
    ["nothing has happened", { spec, status: { phase: "Pending" } }, "0/2", "Pending"],
    ["all is well", { spec, status: { phase: "Running", containerStatuses: [running, running] } }, "2/2", "Running"],
    [
      "one waits",
      {
        spec,
        status: {
          phase: "Pending",
          containerStatuses: [running, { state: { waiting: { reason: "ImagePullBackOff" } } }],
        },
      },
      "1/2",
      "ImagePullBackOff",
    ],
    [
      "it is done",
      { spec, status: { phase: "Succeeded", containerStatuses: [ended("Completed"), ended("Completed")] } },
      "0/2",
      "Completed",
    ],
    [
      "one is done, one works",
      {
        spec,
        status: {
          phase: "Running",
          containerStatuses: [ended("Completed"), running],
          conditions: [{ type: "Ready", status: "True" }],
        },
      },
      "1/2",
      "Running",
    ],
    [
      "it failed without a word",
      { spec, status: { phase: "Failed", containerStatuses: [ended("", 3)] } },
      "0/2",
      "ExitCode:3",
    ],
    [
      "it is initializing",
      {
        spec: init,
        status: {
          phase: "Pending",
          initContainerStatuses: [ended("Completed"), { state: { waiting: { reason: "PodInitializing" } } }],
        },
      },
      "0/2",
      "Init:1/2",
    ],
    [
      "initializing failed",
      { spec: init, status: { phase: "Pending", initContainerStatuses: [ended("Error", 1)] } },
      "0/2",
      "Init:Error",
    ],
    [
      "it is leaving",
      {
        metadata: { deletionTimestamp: "2026-01-01T23:59:00Z" },
        spec,
        status: { phase: "Running", containerStatuses: [running, running] },
      },
      "2/2",
      "Terminating",
    ],
    ["it was evicted", { spec, status: { phase: "Failed", reason: "Evicted" } }, "0/2", "Evicted"],
  ];
  it.each(rows)("when %s", (_, pod, ready, status) => {
    expect(cells("Pod", pod)).toMatchObject({ Ready: ready, Status: status, Age: "5m" });
  });

  it("says when it was restarted last", () => {
    const restarted = {
      ...running,
      restartCount: 3,
      lastState: { terminated: { finishedAt: "2026-01-01T23:59:00Z" } },
    };
    expect(cells("Pod", { spec, status: { phase: "Running", containerStatuses: [restarted] } }).Restarts).toBe(
      "3 (60s ago)",
    );
  });
});

describe("tables", () => {
  const rows: [kind: string, object: Shape, cells: Record<string, unknown>][] = [
    ["ConfigMap", { data: { a: "1" }, binaryData: { b: "" } }, { Name: "x", Data: 2, Age: "5m" }],
    ["Secret", { type: "Opaque", data: { a: "" } }, { Name: "x", Type: "Opaque", Data: 1, Age: "5m" }],
    ["Namespace", { status: { phase: "Active" } }, { Name: "x", Status: "Active", Age: "5m" }],
    ["ServiceAccount", {}, { Name: "x", Age: "5m" }],
    ["Role", {}, { Name: "x", "Created At": META.creationTimestamp }],
    [
      "RoleBinding",
      { roleRef: { kind: "ClusterRole", name: "view" } },
      { Name: "x", Role: "ClusterRole/view", Age: "5m" },
    ],
    ["Lease", { spec: { holderIdentity: "me" } }, { Name: "x", Holder: "me", Age: "5m" }],
    [
      "Deployment",
      { spec: { replicas: 2 }, status: { readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1 } },
      { Name: "x", Ready: "1/2", "Up-to-date": 2, Available: 1, Age: "5m" },
    ],
    [
      "ReplicaSet",
      { spec: { replicas: 2 }, status: { replicas: 1 } },
      { Name: "x", Desired: 2, Current: 1, Ready: 0, Age: "5m" },
    ],
    ["StatefulSet", { spec: { replicas: 2 } }, { Name: "x", Ready: "0/2", Age: "5m" }],
    [
      "Job",
      {
        spec: { completions: 1 },
        status: {
          succeeded: 1,
          startTime: "2026-01-01T23:55:00Z",
          completionTime: "2026-01-01T23:55:09Z",
          conditions: [{ type: "Complete", status: "True" }],
        },
      },
      { Name: "x", Status: "Complete", Completions: "1/1", Duration: "9s", Age: "5m" },
    ],
    [
      "CronJob",
      { spec: { schedule: "0 * * * *", suspend: false }, status: { active: [{}] } },
      {
        Name: "x",
        Schedule: "0 * * * *",
        Timezone: "<none>",
        Suspend: "False",
        Active: 1,
        "Last Schedule": "<none>",
        Age: "5m",
      },
    ],
    [
      "Service",
      { spec: { type: "NodePort", clusterIP: "10.0.0.1", ports: [{ port: 80, nodePort: 30_080, protocol: "TCP" }] } },
      {
        Name: "x",
        Type: "NodePort",
        "Cluster-IP": "10.0.0.1",
        "External-IP": "<none>",
        "Port(s)": "80:30080/TCP",
        Age: "5m",
      },
    ],
    [
      "Node",
      {
        metadata: { labels: { "node-role.kubernetes.io/worker": "" } },
        spec: { unschedulable: true },
        status: { conditions: [{ type: "Ready", status: "True" }], nodeInfo: { kubeletVersion: "v1.35.0" } },
      },
      { Name: "x", Status: "Ready,SchedulingDisabled", Roles: "worker", Age: "5m", Version: "v1.35.0" },
    ],
    [
      "CertificateSigningRequest",
      {
        spec: { signerName: "a.b/c", username: "u", expirationSeconds: 3600 },
        status: { certificate: "Yg==", conditions: [{ type: "Approved" }] },
      },
      {
        Name: "x",
        Age: "5m",
        SignerName: "a.b/c",
        Requestor: "u",
        RequestedDuration: "60m",
        Condition: "Approved,Issued",
      },
    ],
    [
      "Ingress",
      { spec: { rules: [{ host: "a.b" }], tls: [{}] } },
      { Name: "x", Class: "<none>", Hosts: "a.b", Address: "", Ports: "80, 443", Age: "5m" },
    ],
    [
      "EndpointSlice",
      { addressType: "IPv4", ports: [{ port: 80 }], endpoints: [{ addresses: ["1.1.1.1"] }] },
      { Name: "x", AddressType: "IPv4", Ports: "80", Endpoints: "1.1.1.1", Age: "5m" },
    ],
    [
      "Endpoints",
      { subsets: [{ addresses: [{ ip: "1.1.1.1" }, { ip: "::1" }], ports: [{ port: 80 }] }] },
      { Name: "x", Endpoints: "1.1.1.1:80,[::1]:80", Age: "5m" },
    ],
    [
      "StorageClass",
      { metadata: { annotations: { "storageclass.kubernetes.io/is-default-class": "true" } }, provisioner: "p" },
      {
        Name: "x (default)",
        Provisioner: "p",
        ReclaimPolicy: "Delete",
        VolumeBindingMode: "Immediate",
        AllowVolumeExpansion: false,
        Age: "5m",
      },
    ],
    [
      "PodDisruptionBudget",
      { spec: { minAvailable: "50%" } },
      { Name: "x", "Min Available": "50%", "Max Unavailable": "N/A", "Allowed Disruptions": 0, Age: "5m" },
    ],
  ];
  it.each(rows)("of %s", (kind, object, shown) => {
    expect(cells(kind, object)).toEqual(shown);
  });

  it("show more when there is room", () => {
    const template = {
      spec: {
        containers: [
          { name: "a", image: "i" },
          { name: "b", image: "j" },
        ],
      },
    };
    const wide = cells("Deployment", { spec: { selector: { matchLabels: { b: "c" } }, template } }, undefined, true);
    expect(wide).toMatchObject({ Containers: "a,b", Images: "i,j", Selector: "b=c" });
  });
});
