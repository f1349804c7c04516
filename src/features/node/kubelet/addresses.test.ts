import { describe, expect, it } from "vitest";
import type { Node, Pod } from "#api/core";
import { freeRange, PodAddresses } from "./addresses.ts";

const node = (podCIDR?: string): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n" },
  spec: podCIDR === undefined ? {} : { podCIDR },
});
const pod = (uid: string, podIP?: string): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: uid, namespace: "ns", uid },
  spec: { containers: [] },
  ...(podIP !== undefined && { status: { podIP } }),
});

describe("the range of a node", () => {
  it("is the same for the same name, and lies where no Service has its address", () => {
    const range = freeRange("n1", []);
    expect(freeRange("n1", [node()])).toBe(range);
    expect(range).toMatch(/^10\.(12[89]|1[3-9]\d|2\d\d)\.\d+\.0\/18$/);
  });

  it("is another one when somebody has it already", () => {
    const first = freeRange("n1", []);
    const second = freeRange("n1", [node(first)]);
    expect(second).not.toBe(first);
    expect(freeRange("n1", [node(first), node(second)])).not.toBe(second);
  });
});

describe("the addresses of Pods", () => {
  it("are given one after the other, each Pod keeping its own", () => {
    const addresses = new PodAddresses("10.200.0.0/18");
    expect(addresses.of(pod("a"))).toBe("10.200.0.1");
    expect(addresses.of(pod("b"))).toBe("10.200.0.2");
    expect(addresses.of(pod("a"))).toBe("10.200.0.1");
  });

  it("are kept when the node starts again, because the server remembers them", () => {
    const addresses = new PodAddresses("10.200.0.0/18");
    expect(addresses.of(pod("a", "10.200.0.9"))).toBe("10.200.0.9");
    expect(addresses.of(pod("b"))).toBe("10.200.0.10");
  });

  it("rest before they are given again", () => {
    const addresses = new PodAddresses("10.200.0.0/30");
    expect(addresses.of(pod("a"))).toBe("10.200.0.1");
    addresses.release(pod("a"));
    expect(addresses.of(pod("b"))).toBe("10.200.0.2");
    expect(addresses.of(pod("c"))).toBe("10.200.0.1");
    expect(() => addresses.of(pod("d"))).toThrow("all addresses of 10.200.0.0 are taken");
  });

  it("are none of another range, whatever a Pod says", () => {
    const addresses = new PodAddresses("10.200.0.0/18");
    expect(addresses.of(pod("a", "10.1.2.3"))).toBe("10.200.0.1");
    expect(addresses.of(pod("b", "10.200.0.0"))).toBe("10.200.0.2");
  });
});
