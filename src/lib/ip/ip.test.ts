import { describe, expect, it } from "vitest";
import { blockText, containsBlock, containsIp, ipText, masked, parseBlock, parseIp } from "./index.ts";

const ip = (text: string) => parseIp(text) ?? expect.fail(`${text} is no address`);
const block = (text: string) => parseBlock(text) ?? expect.fail(`${text} is no block`);

describe("addresses", () => {
  it.each([
    ["10.96.0.1", "10.96.0.1"],
    ["::1", "::1"],
    ["2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["fe80::42:1dff:fe84:f9e2", "fe80::42:1dff:fe84:f9e2"],
    ["64:ff9b::1.2.3.4", "64:ff9b::102:304"],
  ])("%s is written %s", (text, canonical) => {
    expect(ipText(ip(text))).toBe(canonical);
  });

  it.each(["", "1.2.3", "010.0.0.1", "256.0.0.1", "fe80::1%eth0", "::ffff:1.2.3.4", "x"])("%j is none", (text) => {
    expect(parseIp(text)).toBeUndefined();
  });
});

describe("blocks", () => {
  it("hold what begins like them", () => {
    expect(containsIp(block("10.96.0.0/16"), ip("10.96.255.255"))).toBe(true);
    expect(containsIp(block("10.96.0.0/16"), ip("10.97.0.0"))).toBe(false);
    expect(containsIp(block("0.0.0.0/0"), ip("::1"))).toBe(false);
    expect(containsBlock(block("10.0.0.0/8"), block("10.96.0.0/16"))).toBe(true);
    expect(containsBlock(block("10.96.0.0/16"), block("10.0.0.0/8"))).toBe(false);
  });

  it("have a form without the bits that mean nothing", () => {
    expect(blockText(masked(block("10.96.7.7/16")))).toBe("10.96.0.0/16");
    expect(blockText(masked(block("2001:db8::1/64")))).toBe("2001:db8::/64");
  });

  it.each(["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "::/129", "/8"])("%j is none", (text) => {
    expect(parseBlock(text)).toBeUndefined();
  });
});
