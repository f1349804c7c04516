/** Where manifests may come from: a URL is chosen by whoever may write the object, and followed with our reach. */
import { type LookupAddress, lookup as resolve } from "node:dns";
import type { LookupFunction } from "node:net";
import { containsIp, type IpBlock, parseBlock, parseIp } from "#lib/ip";

/** This machine, its neighbours on the link (where clouds keep their credentials), everybody, and nobody. */
const FORBIDDEN: readonly IpBlock[] = [
  "127.0.0.0/8",
  "0.0.0.0/8",
  "169.254.0.0/16",
  "224.0.0.0/4",
  "255.255.255.255/32",
  "::/127",
  "fe80::/10",
  "ff00::/8",
  // Where one cloud keeps its credentials on IPv6.
  "fd00:ec2::254/128",
].flatMap((text) => parseBlock(text) ?? []);

/** Whether an address may be asked; what cannot be read, such as IPv4 in the clothes of IPv6, may not. */
export function isAllowedAddress(address: string): boolean {
  const ip = parseIp(address);
  return ip !== undefined && !FORBIDDEN.some((block) => containsIp(block, ip));
}

/** Hosts that somebody vouches for, as `host` or `host:port`. */
export function isVouchedFor({ hostname, host }: URL, hosts: readonly string[]): boolean {
  const plain = hostname.replace(/^\[|\]$/g, "");
  return hosts.some((each) => each === hostname || each === plain || each === host);
}

/** What is wrong with a URL before anything is asked; undefined if nothing is. */
export function problemOfUrl(url: URL, hosts: readonly string[]): string | undefined {
  if (url.protocol !== "https:" && url.protocol !== "http:") return `${url.protocol} is not read, only https: is`;
  if (url.username !== "" || url.password !== "") return "it holds credentials, which everybody could read";
  if (isVouchedFor(url, hosts)) return undefined;
  if (url.protocol === "http:")
    return "without encryption anybody may change what is read; use https:, or allow the host";
  const literal = url.hostname.replace(/^\[|\]$/g, "");
  return parseIp(literal) !== undefined && !isAllowedAddress(literal) ? forbidden(literal) : undefined;
}

export function forbidden(address: string): string {
  return `${address} is an address of this machine or its neighbours; allow the host if that is meant`;
}

/** Looks names up as ever, and refuses what leads to a forbidden address: a name says nothing about where it leads. */
export const carefulLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    const [first] = addresses ?? [];
    const bad = error ? undefined : addresses.find(({ address }) => !isAllowedAddress(address));
    if (error || !first) callback(error ?? new Error(`${hostname} has no address`), "", 0);
    else if (bad) callback(new Error(`${hostname}: ${forbidden(bad.address)}`), "", 0);
    else if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};
