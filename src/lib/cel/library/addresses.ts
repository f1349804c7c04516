/** IP addresses and blocks of them. */
import { isIPv4, isIPv6 } from "node:net";
import { failure } from "../errors.ts";
import { declare, type FunctionDeclaration, overload } from "../functions.ts";
import { Opaque } from "../values.ts";

export const IP_TYPE = "net.IP";
export const CIDR_TYPE = "net.CIDR";

class Address extends Opaque {
  readonly typeName = IP_TYPE;
  readonly family: 4 | 6;
  readonly bits: bigint;

  constructor(family: 4 | 6, bits: bigint) {
    super();
    this.family = family;
    this.bits = bits;
  }

  get length(): number {
    return this.family === 4 ? 32 : 128;
  }

  equals(other: Opaque): boolean {
    return other instanceof Address && other.family === this.family && other.bits === this.bits;
  }

  /** The first bits, as a number. */
  prefix(length: number): bigint {
    return this.bits >> BigInt(this.length - length);
  }

  get text(): string {
    return this.family === 4 ? dotted(this.bits) : colons(this.bits);
  }
}

class Block extends Opaque {
  readonly typeName = CIDR_TYPE;
  readonly address: Address;
  readonly prefixLength: number;

  constructor(address: Address, prefixLength: number) {
    super();
    this.address = address;
    this.prefixLength = prefixLength;
  }

  equals(other: Opaque): boolean {
    return other instanceof Block && other.prefixLength === this.prefixLength && other.address.equals(this.address);
  }

  get masked(): Block {
    const rest = BigInt(this.address.length - this.prefixLength);
    return new Block(new Address(this.address.family, (this.address.bits >> rest) << rest), this.prefixLength);
  }

  containsAddress(address: Address): boolean {
    if (address.family !== this.address.family) return false;
    return address.prefix(this.prefixLength) === this.address.prefix(this.prefixLength);
  }

  containsBlock(block: Block): boolean {
    return block.prefixLength >= this.prefixLength && this.containsAddress(block.address);
  }

  get text(): string {
    return `${this.address.text}/${this.prefixLength}`;
  }
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

/** An address without a zone; IPv4 in the clothes of IPv6 is not accepted, because rules would miss it. */
function readAddress(text: string): Address | undefined {
  if (isIPv4(text)) return new Address(4, dottedBits(text));
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
  return bits >> 32n === 0xffffn ? undefined : new Address(6, bits);
}

function dottedBits(text: string): bigint {
  return text.split(".").reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
}

function readBlock(text: string): Block | undefined {
  const found = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text);
  const address = found && readAddress(found[1] ?? "");
  const length = Number(found?.[2]);
  return address && length <= address.length ? new Block(address, length) : undefined;
}

function addressOf(text: string): Address {
  const address = readAddress(text);
  if (!address)
    throw failure(`IP Address ${JSON.stringify(text)} parse error during conversion from string: not an IP address`);
  return address;
}

function blockOf(text: string): Block {
  const block = readBlock(text);
  if (!block)
    throw failure(`network address parse error during conversion from string: ${JSON.stringify(text)} is no CIDR`);
  return block;
}

const isLoopback = ({ family, bits }: Address) => (family === 4 ? bits >> 24n === 127n : bits === 1n);
const isLinkLocalMulticast = ({ family, bits }: Address) =>
  family === 4 ? bits >> 8n === 0xe00000n : ((bits >> 112n) & 0xff0fn) === 0xff02n;
const isLinkLocalUnicast = ({ family, bits }: Address) =>
  family === 4 ? bits >> 16n === 0xa9fen : bits >> 118n === 0x3fan;
const isMulticast = ({ family, bits }: Address) => (family === 4 ? bits >> 28n === 14n : bits >> 120n === 0xffn);
const isBroadcast = ({ family, bits }: Address) => family === 4 && bits === 0xffffffffn;
const isGlobalUnicast = (address: Address) =>
  address.bits !== 0n &&
  !isBroadcast(address) &&
  !isLoopback(address) &&
  !isMulticast(address) &&
  !isLinkLocalUnicast(address);

const question = (name: string, call: (address: Address) => boolean): FunctionDeclaration =>
  declare(name, overload(`ip_${name}`, `${IP_TYPE}.() -> bool`, call));

export const addressLibrary: readonly FunctionDeclaration[] = [
  declare(
    "ip",
    overload("string_to_ip", `(string) -> ${IP_TYPE}`, addressOf),
    overload("cidr_ip", `${CIDR_TYPE}.() -> ${IP_TYPE}`, ({ address }: Block) => address),
  ),
  declare(
    "isIP",
    overload("is_ip", "(string) -> bool", (text: string) => readAddress(text) !== undefined),
  ),
  declare(
    "ip.isCanonical",
    overload("ip_is_canonical", "(string) -> bool", (text: string) => addressOf(text).text === text),
  ),
  declare(
    "family",
    overload("ip_family", `${IP_TYPE}.() -> int`, ({ family }: Address) => BigInt(family)),
  ),
  question("isUnspecified", ({ bits }) => bits === 0n),
  question("isLoopback", isLoopback),
  question("isLinkLocalMulticast", isLinkLocalMulticast),
  question("isLinkLocalUnicast", isLinkLocalUnicast),
  question("isGlobalUnicast", isGlobalUnicast),
  declare(
    "string",
    overload("ip_to_string", `(${IP_TYPE}) -> string`, ({ text }: Address) => text),
    overload("cidr_to_string", `(${CIDR_TYPE}) -> string`, ({ text }: Block) => text),
  ),
  declare("cidr", overload("string_to_cidr", `(string) -> ${CIDR_TYPE}`, blockOf)),
  declare(
    "isCIDR",
    overload("is_cidr", "(string) -> bool", (text: string) => readBlock(text) !== undefined),
  ),
  declare(
    "containsIP",
    overload("cidr_contains_ip_string", `${CIDR_TYPE}.(string) -> bool`, (block: Block, text: string) =>
      block.containsAddress(addressOf(text)),
    ),
    overload("cidr_contains_ip_ip", `${CIDR_TYPE}.(${IP_TYPE}) -> bool`, (block: Block, address: Address) =>
      block.containsAddress(address),
    ),
  ),
  declare(
    "containsCIDR",
    overload("cidr_contains_cidr_string", `${CIDR_TYPE}.(string) -> bool`, (block: Block, text: string) =>
      block.containsBlock(blockOf(text)),
    ),
    overload("cidr_contains_cidr", `${CIDR_TYPE}.(${CIDR_TYPE}) -> bool`, (block: Block, other: Block) =>
      block.containsBlock(other),
    ),
  ),
  declare(
    "prefixLength",
    overload("cidr_prefix_length", `${CIDR_TYPE}.() -> int`, ({ prefixLength }: Block) => BigInt(prefixLength)),
  ),
  declare(
    "masked",
    overload("cidr_masked", `${CIDR_TYPE}.() -> ${CIDR_TYPE}`, ({ masked }: Block) => masked),
  ),
];
