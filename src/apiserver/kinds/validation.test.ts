import { describe, expect, it } from "vitest";
import type { ObjectMeta } from "#api/meta";
import { shown } from "./testing/drafts.ts";
import { type MetadataRules, validateObjectMeta, validateObjectMetaUpdate } from "./validation.ts";

const RULES: MetadataRules = { namespaced: true, nameRule: "subdomain", builtin: true };
const META: ObjectMeta = { name: "x", namespace: "default", uid: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
const OWNER = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" };

describe("validateObjectMeta", () => {
  const rows: [why: string, metadata: Partial<ObjectMeta>, rules: Partial<MetadataRules>, errors: string[]][] = [
    ["plain metadata is fine", {}, {}, []],
    ["a name is needed", { name: "" }, {}, ["metadata.name: Required"]],
    ["names are DNS subdomains", { name: "Bad_Name" }, {}, ["metadata.name: Invalid"]],
    ["namespaces are DNS labels", { name: "a.b" }, { nameRule: "label" }, ["metadata.name: Invalid"]],
    ["services begin with a letter", { name: "1a" }, { nameRule: "label1035" }, ["metadata.name: Invalid"]],
    ["roles carry colons", { name: "system:node" }, { nameRule: "path-segment" }, []],
    ["a prefix may end in a dash", { name: "a-1", generateName: "a-" }, {}, []],
    ["a prefix obeys the rule otherwise", { name: "a-1", generateName: "A-" }, {}, ["metadata.generateName: Invalid"]],
    ["a namespace is needed", { namespace: "" }, {}, ["metadata.namespace: Required"]],
    ["a namespace is not wanted", {}, { namespaced: false }, ["metadata.namespace: Forbidden"]],
    ["label keys are qualified names", { labels: { "bad key!": "v" } }, {}, ["metadata.labels: Invalid"]],
    ["label values are short", { labels: { a: "b".repeat(64) } }, {}, ["metadata.labels: Invalid"]],
    ["annotation keys may have capitals", { annotations: { "Example.com/A": "any thing" } }, {}, []],
    ["annotations are limited", { annotations: { a: "b".repeat(256 * 1024) } }, {}, ["metadata.annotations: TooLong"]],
    ["owners need a uid", { ownerReferences: [{ ...OWNER, uid: "" }] }, {}, ["metadata.ownerReferences.uid: Invalid"]],
    [
      "one controller at most",
      {
        ownerReferences: [
          { ...OWNER, controller: true },
          { ...OWNER, name: "q", controller: true },
        ],
      },
      {},
      ["metadata.ownerReferences: Invalid"],
    ],
    [
      "events own nothing",
      { ownerReferences: [{ ...OWNER, kind: "Event" }] },
      {},
      ["metadata.ownerReferences: Invalid"],
    ],
    ["finalizers have a domain", { finalizers: ["bad"] }, {}, ["metadata.finalizers[0]: Invalid"]],
    ["custom kinds take any finalizer", { finalizers: ["bad"] }, { builtin: false }, []],
    ["standard finalizers have none", { finalizers: ["orphan"] }, {}, []],
    [
      "policies exclude each other",
      { finalizers: ["orphan", "foregroundDeletion"] },
      {},
      ["metadata.finalizers: Invalid"],
    ],
  ];
  it.each(rows)("%s", (_, metadata, rules, errors) => {
    expect(shown(validateObjectMeta({ ...META, ...metadata }, { ...RULES, ...rules }))).toEqual(errors);
  });
});

describe("validateObjectMetaUpdate", () => {
  const LEAVING = { ...META, deletionTimestamp: "2026-01-02T00:00:00Z", finalizers: ["a/b", "c/d"] };
  const rows: [why: string, next: ObjectMeta, current: ObjectMeta, errors: string[]][] = [
    ["labels change freely", { ...META, labels: { a: "b" } }, META, []],
    ["the name stays", { ...META, name: "y" }, META, ["metadata.name: Invalid"]],
    ["the uid stays", { ...META, uid: "2" }, META, ["metadata.uid: Invalid"]],
    [
      "the generation does not fall",
      { ...META, generation: 1 },
      { ...META, generation: 2 },
      ["metadata.generation: Invalid"],
    ],
    ["a deleted object loses finalizers", { ...LEAVING, finalizers: ["a/b"] }, LEAVING, []],
    [
      "a deleted object gains none",
      { ...LEAVING, finalizers: ["a/b", "e/f"] },
      LEAVING,
      ["metadata.finalizers: Forbidden"],
    ],
    [
      "the rules of labels hold",
      { ...META, labels: { "": "b" } },
      META,
      ["metadata.labels: Invalid", "metadata.labels: Invalid"],
    ],
  ];
  it.each(rows)("%s", (_, next, current, errors) => {
    expect(shown(validateObjectMetaUpdate(next, current, RULES))).toEqual(errors);
  });
});
