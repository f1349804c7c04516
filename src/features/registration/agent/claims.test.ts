import { describe, expect, it } from "vitest";
import type { ClusterProperty } from "#api/about";
import type { ClusterClaim } from "#api/cluster";
import { toldClaims } from "./claims.ts";

const reportedClaims = (...given: Parameters<typeof toldClaims>) => toldClaims(...given).claims;

const claim = (name: string, value: string, labels?: Record<string, string>): ClusterClaim => ({
  apiVersion: "cluster.open-cluster-management.io/v1alpha1",
  kind: "ClusterClaim",
  metadata: { name, ...(labels && { labels }) },
  spec: { value },
});
const property = (name: string, value: string): ClusterProperty => ({
  ...claim(name, value),
  apiVersion: "about.k8s.io/v1alpha1",
  kind: "ClusterProperty",
  spec: { value },
});

describe("what a spoke tells about itself", () => {
  it("is sorted, reserved names first", () => {
    const claims = [
      claim("b", "1"),
      claim("a", "2"),
      claim("product.open-cluster-management.io", "x"),
      claim("id.k8s.io", "y"),
    ];
    expect(reportedClaims([], claims).map(({ name }) => name)).toEqual([
      "id.k8s.io",
      "product.open-cluster-management.io",
      "a",
      "b",
    ]);
  });

  it("prefers a property to a claim of the same name", () => {
    expect(reportedClaims([property("a", "p")], [claim("a", "c")])).toEqual([{ name: "a", value: "p" }]);
  });

  it("leaves out what is for the spoke only, whatever the label's value", () => {
    expect(reportedClaims([], [claim("a", "1", { "open-cluster-management.io/spoke-only": "" })])).toEqual([]);
  });

  it("cuts the custom ones and never the reserved ones", () => {
    const many = Array.from({ length: 30 }, (_, i) => claim(`c${String(i).padStart(2, "0")}`, "v"));
    const names = reportedClaims([], [...many, claim("id.k8s.io", "y")]).map(({ name }) => name);
    expect(names).toHaveLength(21);
    expect(names[0]).toBe("id.k8s.io");
    expect(names.at(-1)).toBe("c19");
    expect(toldClaims([], many).left).toEqual(many.slice(20).map(({ metadata }) => metadata.name));
  });

  it("leaves out a value that is too long, because the hub would refuse the whole report", () => {
    expect(reportedClaims([property("long", "x".repeat(1025)), property("fits", "x".repeat(1024))], [])).toHaveLength(
      1,
    );
  });

  it("reports names with a reserved ending however many there are, and others up to the number given", () => {
    const claims = [claim("a", "1"), claim("b", "1"), claim("x.acme.io", "1"), claim("y.acme.io", "1")];
    const told = reportedClaims([], claims, { most: 1, reservedSuffixes: ["acme.io"] }).map(({ name }) => name);
    expect(told).toEqual(["x.acme.io", "y.acme.io", "a"]);
    expect(reportedClaims([], claims, { most: 0 })).toEqual([]);
  });
});
