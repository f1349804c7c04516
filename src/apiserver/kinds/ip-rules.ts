/** What is wrong with fields that hold IP addresses or blocks of them. */
import { blockText, containsIp, type IpBlock, ipText, masked, parseBlock, parseIp } from "#lib/ip";
import { type FieldError, field } from "../errors.ts";

export function ipErrors(path: string, text: string): FieldError[] {
  if (parseIp(text)) return [];
  return [field.invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")];
}

/** An address in the one form that it has: for where addresses are names. */
export function canonicalIpErrors(path: string, text: string): FieldError[] {
  const ip = parseIp(text);
  if (!ip) return ipErrors(path, text);
  const canonical = ipText(ip);
  return canonical === text ? [] : [field.invalid(path, text, `must be in canonical form ("${canonical}")`)];
}

export function blockErrors(path: string, text: string): FieldError[] {
  const block = parseBlock(text);
  if (!block) return [field.invalid(path, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")];
  if (masked(block).address.bits !== block.address.bits) {
    return [field.invalid(path, text, "must not have bits set beyond the prefix length")];
  }
  return blockText(block) === text
    ? []
    : [field.invalid(path, text, `must be in canonical form ("${blockText(block)}")`)];
}

const block = (text: string): IpBlock => {
  const read = parseBlock(text);
  if (!read) throw new Error(`${text} is no block of addresses`);
  return read;
};
const UNREACHABLE: readonly [blocks: readonly IpBlock[], problem: string][] = [
  [[block("0.0.0.0/32"), block("::/128")], "may not be unspecified"],
  [[block("127.0.0.0/8"), block("::1/128")], "may not be in the loopback range (127.0.0.0/8, ::1/128)"],
  [[block("169.254.0.0/16"), block("fe80::/10")], "may not be in the link-local range (169.254.0.0/16, fe80::/10)"],
  [
    [block("224.0.0.0/24"), block("ff02::/16")],
    "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
  ],
];

/** Addresses that cannot be reached from elsewhere. */
export function unreachableErrors(path: string, text: string): FieldError[] {
  const ip = parseIp(text);
  const found = ip && UNREACHABLE.find(([blocks]) => blocks.some((each) => containsIp(each, ip)));
  return found ? [field.invalid(path, text, found[1])] : [];
}
