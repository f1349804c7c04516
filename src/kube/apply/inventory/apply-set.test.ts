import { expect, it } from "vitest";
import { applySetId, memberAnnotations } from "./apply-set.ts";

it("names sets as other tools do", () => {
  const parent = { group: "kro.run", kind: "WebApp", namespace: "default", name: "my-app" };
  expect(applySetId(parent)).toBe("applyset-9sHw3-6HBl2VO07VeDzfkQhwSs1_MRB3IBzTC1N-yt8-v1");
});

it("tells the kinds and the other namespaces of its members, sorted and once each", () => {
  const member = (kind: string, group: string, namespace?: string) => ({
    group,
    version: "v1",
    kind,
    name: "x",
    ...(namespace && { namespace }),
  });
  const members = [
    member("Deployment", "apps", "b"),
    member("ConfigMap", "", "a"),
    member("ConfigMap", "", "home"),
    member("Namespace", ""),
  ];
  expect(memberAnnotations(members, { group: "", kind: "ConfigMap", namespace: "home", name: "s" })).toEqual({
    "applyset.kubernetes.io/contains-group-kinds": "ConfigMap,Deployment.apps,Namespace",
    "applyset.kubernetes.io/additional-namespaces": "a,b",
  });
});
