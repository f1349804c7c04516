/** IP addresses and blocks of them: reading, writing, and what lies in what. */
import { isIPv4, isIPv6 } from "node:net";

export interface Ip {
  readonly family: 4 | 6;
  readonly bits: bigint;
}

/** `10.96.0.0/16`: all addresses that begin with the same bits as the one named. */
export interface IpBlock {
  readonly address: Ip;
  readonly prefixLength: number;
}

/** An address without a zone; IPv4 in the clothes of IPv6 is not accepted, because rules would miss it. */
export function parseIp(text: string): Ip | undefined {
  if (isIPv4(text)) return { family: 4, bits: dottedBits(text) };
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const plain = text.replace(/(?<=:)\d+\.\d+\.\d+\.\d+$/, (found) => {
    const bits = dottedBits(found);
    return `${(bits >> 16n).toString(16)}:${(bits & 0xffffn).toString(16)}`;
  });
  const [head = "", tail] = plain.split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":"));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const all = tail === undefined ? before : [...before, ...Array(8 - before.length - after.length).fill("0"), ...after];
  const bits = all.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
  return bits >> 32n === 0xffffn ? undefined : { family: 6, bits };
}

/** Bits beyond the prefix may be set; `masked` is the block without them. */
export function parseBlock(text: string): IpBlock | undefined {
  const found = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text);
  const address = found && parseIp(found[1] ?? "");
  const prefixLength = Number(found?.[2]);
  return address && prefixLength <= lengthOf(address) ? { address, prefixLength } : undefined;
}

/** How many bits an address of that family has. */
export function lengthOf({ family }: Pick<Ip, "family">): number {
  return family === 4 ? 32 : 128;
}

export function masked({ address, prefixLength }: IpBlock): IpBlock {
  const rest = BigInt(lengthOf(address) - prefixLength);
  return { address: { family: address.family, bits: (address.bits >> rest) << rest }, prefixLength };
}

export function containsIp({ address, prefixLength }: IpBlock, ip: Ip): boolean {
  if (ip.family !== address.family) return false;
  const rest = BigInt(lengthOf(address) - prefixLength);
  return ip.bits >> rest === address.bits >> rest;
}

export function containsBlock(outer: IpBlock, inner: IpBlock): boolean {
  return inner.prefixLength >= outer.prefixLength && containsIp(outer, inner.address);
}

export function ipText({ family, bits }: Ip): string {
  return family === 4 ? dotted(bits) : colons(bits);
}

export function blockText({ address, prefixLength }: IpBlock): string {
  return `${ipText(address)}/${prefixLength}`;
}

function dottedBits(text: string): bigint {
  return text.split(".").reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
}

function dotted(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((by) => (bits >> by) & 0xffn).join(".");
}

/** The longest row of zeros is left out, as RFC 5952 writes addresses. */
function colons(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => Number((bits >> BigInt(112 - 16 * index)) & 0xffffn));
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const hex = (part: number[]) => part.map((group) => group.toString(16)).join(":");
  if (best.start < 0) return hex(groups);
  return `${hex(groups.slice(0, best.start))}::${hex(groups.slice(best.start + best.length))}`;
}
