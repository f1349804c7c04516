import { describe, expect, it } from "vitest";
import { ReplicaSet } from "#api/apps";
import type { DynamicObject, LabelSelector } from "#api/meta";
import { labelSelector } from "#lib/selectors";
import type { Occurrence } from "../runner.ts";
import { bed as makeBed } from "../testing/bed.ts";
import { concerned } from "./concern.ts";
import { REPLICA_SETS } from "./replicas/replicas.controller.ts";
import { template } from "./testing/pods.ts";

const owned = (name: string, more: object = {}) => ({
  ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name, uid: name, controller: true, ...more }],
});

function pod(metadata: object = {}): DynamicObject {
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "default", ...metadata } };
}

/** Two ReplicaSets that want Pods of their own name, and one that wants both. */
async function audience() {
  const { store, create } = await makeBed(() => []);
  const wants = { a: ["a"], b: ["b"], both: ["a", "b"] };
  for (const [name, values] of Object.entries(wants)) {
    await create(REPLICA_SETS, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name, namespace: "default" },
      spec: {
        selector: { matchExpressions: [{ key: "app", operator: "In", values }] },
        template: { ...template(), metadata: { labels: { app: values[0] } } },
      },
    });
  }
  const selectorOf = ({ spec }: DynamicObject) => labelSelector((spec as { selector: LabelSelector }).selector);
  return (event: Pick<Occurrence, "type" | "object" | "previous">) =>
    concerned(
      { resource: "core/pods", key: "default/p", ...event },
      { kind: ReplicaSet, storage: REPLICA_SETS, store, selectorOf },
    );
}

describe("an event concerns", () => {
  const [a, b] = [{ labels: { app: "a" } }, { labels: { app: "b" } }];
  const rows: [who: string, event: Pick<Occurrence, "type" | "object" | "previous">, keys: string[]][] = [
    ["the controller", { type: "ADDED", object: pod(owned("a")) }, ["default/a"]],
    [
      "the controller of what is gone",
      { type: "DELETED", object: pod(owned("a")), previous: pod(owned("a")) },
      ["default/a"],
    ],
    [
      "the controllers of before and after",
      { type: "MODIFIED", object: pod(owned("b")), previous: pod(owned("a")) },
      ["default/b", "default/a"],
    ],
    ["nobody, when the controller is of another kind", { type: "ADDED", object: pod(owned("a", { kind: "Job" })) }, []],
    ["nobody, when it is of another group", { type: "ADDED", object: pod(owned("a", { apiVersion: "x/v1" })) }, []],
    ["all who want what nobody controls", { type: "ADDED", object: pod(a) }, ["default/a", "default/both"]],
    ["nobody, when they have seen it before", { type: "MODIFIED", object: pod(a), previous: pod(a) }, []],
    ["those who want it now", { type: "MODIFIED", object: pod(b), previous: pod(a) }, ["default/b", "default/both"]],
    [
      "who let go of it, and all who want it",
      { type: "MODIFIED", object: pod(b), previous: pod({ ...b, ...owned("a") }) },
      ["default/a", "default/b", "default/both"],
    ],
    ["nobody, when what nobody controls goes", { type: "DELETED", object: pod(a), previous: pod(a) }, []],
    ["nobody, when it has no labels", { type: "ADDED", object: pod() }, []],
  ];
  it.each(rows)("%s", async (_, event, keys) => {
    expect((await audience())(event)).toEqual(keys);
  });
});
