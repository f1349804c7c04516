/** IP addresses and blocks of them. */
import {
  blockText,
  containsBlock,
  containsIp,
  type Ip,
  type IpBlock,
  ipText,
  masked,
  parseBlock,
  parseIp,
} from "#lib/ip";
import { failure } from "../errors.ts";
import { declare, type FunctionDeclaration, overload } from "../functions.ts";
import { Opaque } from "../values.ts";

export const IP_TYPE = "net.IP";
export const CIDR_TYPE = "net.CIDR";

class Address extends Opaque {
  readonly typeName = IP_TYPE;
  readonly ip: Ip;

  constructor(ip: Ip) {
    super();
    this.ip = ip;
  }

  equals(other: Opaque): boolean {
    return other instanceof Address && other.ip.family === this.ip.family && other.ip.bits === this.ip.bits;
  }

  get text(): string {
    return ipText(this.ip);
  }
}

class Block extends Opaque {
  readonly typeName = CIDR_TYPE;
  readonly block: IpBlock;

  constructor(block: IpBlock) {
    super();
    this.block = block;
  }

  get address(): Address {
    return new Address(this.block.address);
  }

  equals(other: Opaque): boolean {
    if (!(other instanceof Block) || other.block.prefixLength !== this.block.prefixLength) return false;
    return other.address.equals(this.address);
  }

  get text(): string {
    return blockText(this.block);
  }
}

function addressOf(text: string): Address {
  const ip = parseIp(text);
  if (!ip)
    throw failure(`IP Address ${JSON.stringify(text)} parse error during conversion from string: not an IP address`);
  return new Address(ip);
}

function blockOf(text: string): Block {
  const block = parseBlock(text);
  if (!block)
    throw failure(`network address parse error during conversion from string: ${JSON.stringify(text)} is no CIDR`);
  return new Block(block);
}

const isLoopback = ({ family, bits }: Ip) => (family === 4 ? bits >> 24n === 127n : bits === 1n);
const isLinkLocalMulticast = ({ family, bits }: Ip) =>
  family === 4 ? bits >> 8n === 0xe00000n : ((bits >> 112n) & 0xff0fn) === 0xff02n;
const isLinkLocalUnicast = ({ family, bits }: Ip) => (family === 4 ? bits >> 16n === 0xa9fen : bits >> 118n === 0x3fan);
const isMulticast = ({ family, bits }: Ip) => (family === 4 ? bits >> 28n === 14n : bits >> 120n === 0xffn);
const isBroadcast = ({ family, bits }: Ip) => family === 4 && bits === 0xffffffffn;
const isGlobalUnicast = (ip: Ip) =>
  ip.bits !== 0n && !isBroadcast(ip) && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocalUnicast(ip);

const question = (name: string, call: (ip: Ip) => boolean): FunctionDeclaration =>
  declare(
    name,
    overload(`ip_${name}`, `${IP_TYPE}.() -> bool`, ({ ip }: Address) => call(ip)),
  );

export const addressLibrary: readonly FunctionDeclaration[] = [
  declare(
    "ip",
    overload("string_to_ip", `(string) -> ${IP_TYPE}`, addressOf),
    overload("cidr_ip", `${CIDR_TYPE}.() -> ${IP_TYPE}`, ({ address }: Block) => address),
  ),
  declare(
    "isIP",
    overload("is_ip", "(string) -> bool", (text: string) => parseIp(text) !== undefined),
  ),
  declare(
    "ip.isCanonical",
    overload("ip_is_canonical", "(string) -> bool", (text: string) => addressOf(text).text === text),
  ),
  declare(
    "family",
    overload("ip_family", `${IP_TYPE}.() -> int`, ({ ip }: Address) => BigInt(ip.family)),
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
    overload("is_cidr", "(string) -> bool", (text: string) => parseBlock(text) !== undefined),
  ),
  declare(
    "containsIP",
    overload("cidr_contains_ip_string", `${CIDR_TYPE}.(string) -> bool`, ({ block }: Block, text: string) =>
      containsIp(block, addressOf(text).ip),
    ),
    overload("cidr_contains_ip_ip", `${CIDR_TYPE}.(${IP_TYPE}) -> bool`, ({ block }: Block, { ip }: Address) =>
      containsIp(block, ip),
    ),
  ),
  declare(
    "containsCIDR",
    overload("cidr_contains_cidr_string", `${CIDR_TYPE}.(string) -> bool`, ({ block }: Block, text: string) =>
      containsBlock(block, blockOf(text).block),
    ),
    overload("cidr_contains_cidr", `${CIDR_TYPE}.(${CIDR_TYPE}) -> bool`, ({ block }: Block, other: Block) =>
      containsBlock(block, other.block),
    ),
  ),
  declare(
    "prefixLength",
    overload("cidr_prefix_length", `${CIDR_TYPE}.() -> int`, ({ block }: Block) => BigInt(block.prefixLength)),
  ),
  declare(
    "masked",
    overload("cidr_masked", `${CIDR_TYPE}.() -> ${CIDR_TYPE}`, ({ block }: Block) => new Block(masked(block))),
  ),
];
