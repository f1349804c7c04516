import { describe, expect, it } from "vitest";
import { clone } from "#lib/json";
import { created, edited, find, shown } from "./testing/drafts.ts";

const selector = { matchLabels: { a: "b" } };
const container = { name: "c", image: "x" };
const template = { metadata: { labels: { a: "b" } }, spec: { containers: [container] } };
const claim = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};
const rolling = (rollingUpdate: object) => ({ updateStrategy: { type: "RollingUpdate", rollingUpdate } });

describe("StatefulSets", () => {
  const sets = find("StatefulSet");

  const rows: [why: string, spec: Record<string, unknown>, errors: string[]][] = [
    [
      "claims may be mounted",
      {
        volumeClaimTemplates: [claim],
        template: {
          ...template,
          spec: { containers: [{ ...container, volumeMounts: [{ name: "data", mountPath: "/data" }] }] },
        },
      },
      [],
    ],
    [
      "claims say how they are used",
      { volumeClaimTemplates: [{ ...claim, spec: {} }] },
      [
        "spec.volumeClaimTemplates[0].spec.accessModes: Required",
        "spec.volumeClaimTemplates[0].spec.resources[storage]: Required",
      ],
    ],
    ["orders are known", { podManagementPolicy: "Random" }, ["spec.podManagementPolicy: Invalid"]],
    ["strategies are known", { updateStrategy: { type: "Odd" } }, ["spec.updateStrategy: Invalid"]],
    [
      "nothing rolls by hand",
      { updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } } },
      ["spec.updateStrategy.rollingUpdate: Invalid"],
    ],
    [
      "a partition is not negative",
      rolling({ partition: -1 }),
      ["spec.updateStrategy.rollingUpdate.partition: Invalid"],
    ],
    [
      "something may be missing",
      rolling({ maxUnavailable: "0%" }),
      ["spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid"],
    ],
    [
      "no more than all may be missing",
      rolling({ maxUnavailable: "101%" }),
      ["spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid"],
    ],
    ["ordinals are not negative", { ordinals: { start: -1 } }, ["spec.ordinals.start: Invalid"]],
    ["services have names", { serviceName: "Not_a_name" }, ["spec.serviceName: Invalid"]],
    [
      "policies for claims are known",
      { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Maybe" } },
      ["spec.persistentVolumeClaimRetentionPolicy.whenDeleted: NotSupported"],
    ],
    ["all revisions may be kept", { revisionHistoryLimit: -1 }, []],
    [
      "Pods have no deadline",
      { template: { ...template, spec: { ...template.spec, activeDeadlineSeconds: 5 } } },
      ["spec.template.spec.activeDeadlineSeconds: Forbidden"],
    ],
  ];
  it.each(rows)("%s", (_, spec, errors) => {
    expect(shown(created(sets, { spec: { selector, template, ...spec } }).errors)).toEqual(errors);
  });

  it("have names that Pods can be made from", () => {
    const { errors } = created(sets, { metadata: { name: "a.b" }, spec: { selector, template } });
    expect(shown(errors)).toEqual(["metadata.name: Invalid"]);
  });

  it.each([
    ["counts fit", { replicas: 2, readyReplicas: 2, availableReplicas: 1 }, []],
    ["no more are ready than there are", { replicas: 1, readyReplicas: 2 }, ["status.readyReplicas: Invalid"]],
    ["what is available is ready", { replicas: 2, availableReplicas: 1 }, ["status.availableReplicas: Invalid"]],
    ["collisions stay counted", { replicas: 0, collisionCount: 0 }, ["status.collisionCount: Invalid"]],
  ])("report sensibly: %s", (_, status, errors) => {
    const { object } = created(sets, { spec: { selector, template } });
    const before = { ...object, status: { collisionCount: "collisionCount" in status ? 1 : 0 } };
    const next = edited(sets, "status", before, (draft) => {
      draft.status = clone(status);
    });
    expect(shown(next.errors)).toEqual(errors);
  });
});

describe("DaemonSets", () => {
  const sets = find("DaemonSet");
  const rows: [why: string, spec: Record<string, unknown>, errors: string[]][] = [
    ["Pods may surge instead of being missed", rolling({ maxSurge: 1, maxUnavailable: 0 }), []],
    [
      "Pods do not surge and miss",
      rolling({ maxSurge: 1, maxUnavailable: 1 }),
      ["spec.updateStrategy.rollingUpdate.maxSurge: Invalid"],
    ],
    [
      "an update can move",
      rolling({ maxSurge: 0, maxUnavailable: "0%" }),
      ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required"],
    ],
    [
      "amounts can be read",
      rolling({ maxUnavailable: "some" }),
      [
        "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid",
        "spec.updateStrategy.rollingUpdate.maxUnavailable: Required",
      ],
    ],
    ["strategies are known", { updateStrategy: { type: "Odd" } }, ["spec.updateStrategy: NotSupported"]],
  ];
  it.each(rows)("%s", (_, spec, errors) => {
    expect(shown(created(sets, { spec: { selector, template, ...spec } }).errors)).toEqual(errors);
  });

  it("go on counting their templates from where they were", () => {
    const annotations = { "deprecated.daemonset.template.generation": "7" };
    const { object } = created(sets, { metadata: { annotations }, spec: { selector, template } });
    expect(object.metadata.annotations).toEqual(annotations);
  });
});

describe("ControllerRevisions", () => {
  const revisions = find("ControllerRevision");
  it.each([
    ["hold something", { revision: 1 }, ["data: Required"]],
    ["are counted from nothing", { revision: -1, data: {} }, ["revision: Invalid"]],
    ["are fine", { revision: 1, data: { spec: {} } }, []],
  ])("%s", (_, body, errors) => {
    expect(shown(created(revisions, body).errors)).toEqual(errors);
  });
});
