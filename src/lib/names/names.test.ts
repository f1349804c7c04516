import { describe, expect, it } from "vitest";
import {
  configKey,
  dns1035Label,
  dns1123Label,
  dns1123Subdomain,
  labelValue,
  pathSegment,
  qualifiedName,
} from "./index.ts";

type Rule = (text: string) => string[];

describe("names", () => {
  const rows: [rule: Rule, text: string, problem: string | undefined][] = [
    [dns1123Label, "my-name", undefined],
    [dns1123Label, "9a--b", undefined],
    [dns1123Label, "-a", "RFC 1123 label"],
    [dns1123Label, "a.b", "RFC 1123 label"],
    [dns1123Label, "", "RFC 1123 label"],
    [dns1123Label, "a".repeat(64), "no more than 63 bytes"],
    [dns1123Subdomain, "kube-root-ca.crt", undefined],
    [dns1123Subdomain, "a..b", "RFC 1123 subdomain"],
    [dns1123Subdomain, "Bad_Name", "RFC 1123 subdomain"],
    [dns1123Subdomain, "a\n", "RFC 1123 subdomain"],
    [dns1123Subdomain, "a".repeat(254), "no more than 253 bytes"],
    [dns1035Label, "svc-1", undefined],
    [dns1035Label, "1svc", "DNS-1035 label"],
    [dns1035Label, "svc-", "DNS-1035 label"],
    [qualifiedName, "app", undefined],
    [qualifiedName, "example.com/My_name.1", undefined],
    [qualifiedName, "/name", "prefix part must be non-empty"],
    [qualifiedName, "Example.com/name", "prefix part a lowercase RFC 1123 subdomain"],
    [qualifiedName, "example.com/", "name part must be non-empty"],
    [qualifiedName, "a/b/c", "a qualified name"],
    [qualifiedName, "bad key!", "name part must consist of"],
    [qualifiedName, "a".repeat(64), "name part must be no more than 63 bytes"],
    [labelValue, "", undefined],
    [labelValue, "a_b.c-1", undefined],
    [labelValue, "-a", "a valid label"],
    [labelValue, "a".repeat(64), "no more than 63 bytes"],
    [pathSegment, "system:node", undefined],
    [pathSegment, "..", "may not be '..'"],
    [pathSegment, "a/b", "may not contain '/'"],
    [pathSegment, "a%", "may not contain '%'"],
    [configKey, "ca.crt", undefined],
    [configKey, ".hidden", undefined],
    [configKey, "..", "must not be '..'"],
    [configKey, "..a", "must not start with '..'"],
    [configKey, "a b", "a valid config key"],
  ];
  it.each(rows)("%o says of %j: %s", (rule, text, problem) => {
    const said = rule(text).join("\n");
    if (problem === undefined) expect(said).toBe("");
    else expect(said).toContain(problem);
  });

  it("answers at once for a long text, because names come from anybody", () => {
    const hostile = `${"-a".repeat(50_000)}!`;
    for (const rule of [dns1123Label, dns1123Subdomain, dns1035Label, qualifiedName, labelValue]) {
      expect(rule(hostile).length).toBeGreaterThan(0);
    }
  });
});
