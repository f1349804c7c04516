import { expect, it } from "vitest";
import { rightsTo } from "./rules.ts";

it("says of each thing once what may be done with it, whatever the order in which it was said", () => {
  const read = { apiGroups: ["a", "b"], resources: ["x"], verbs: ["list", "get"] };
  const write = { apiGroups: ["a"], resources: ["y", "x"], verbs: ["create"] };
  const expected = [
    { apiGroups: ["a"], resources: ["x"], verbs: ["create", "get", "list"] },
    { apiGroups: ["a"], resources: ["y"], verbs: ["create"] },
    { apiGroups: ["b"], resources: ["x"], verbs: ["get", "list"] },
  ];
  expect(rightsTo([read], [write])).toEqual(expected);
  expect(rightsTo([write, read])).toEqual(expected);
});

it("keeps rights over some names apart from rights over all", () => {
  const some = { apiGroups: [""], resources: ["secrets"], resourceNames: ["b", "a"], verbs: ["get"] };
  const all = { apiGroups: [""], resources: ["secrets"], verbs: ["create"] };
  expect(rightsTo([some], [all])).toEqual([
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["a", "b"], verbs: ["get"] },
    { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
  ]);
});

it("knows addresses that are no objects", () => {
  const rules = [{ nonResourceURLs: ["/metrics", "/healthz"], verbs: ["get"] }];
  expect(rightsTo(rules)).toEqual([
    { nonResourceURLs: ["/healthz"], verbs: ["get"] },
    { nonResourceURLs: ["/metrics"], verbs: ["get"] },
  ]);
});
