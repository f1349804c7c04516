/** What a key may be used for, in the words of the Kubernetes certificates API. */
import { ANY_EXTENDED_KEY_USAGE, CLIENT_AUTH, SERVER_AUTH } from "./oids.ts";

/** The bit of the keyUsage extension for each usage that has one. */
const KEY_USAGE_BITS = {
  signing: 0,
  "digital signature": 0,
  "content commitment": 1,
  "key encipherment": 2,
  "data encipherment": 3,
  "key agreement": 4,
  "cert sign": 5,
  "crl sign": 6,
  "encipher only": 7,
  "decipher only": 8,
} as const;

/** The purpose in the extended key usage extension for each usage that has one. */
const EXTENDED_KEY_USAGES = {
  any: ANY_EXTENDED_KEY_USAGE,
  "server auth": SERVER_AUTH,
  "client auth": CLIENT_AUTH,
  "code signing": "1.3.6.1.5.5.7.3.3",
  "email protection": "1.3.6.1.5.5.7.3.4",
  "s/mime": "1.3.6.1.5.5.7.3.4",
  "ipsec end system": "1.3.6.1.5.5.7.3.5",
  "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
  "ipsec user": "1.3.6.1.5.5.7.3.7",
  timestamping: "1.3.6.1.5.5.7.3.8",
  "ocsp signing": "1.3.6.1.5.5.7.3.9",
  "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
  "netscape sgc": "2.16.840.1.113730.4.1",
} as const;

export type CertificateUsage = keyof typeof KEY_USAGE_BITS | keyof typeof EXTENDED_KEY_USAGES;

export function isCertificateUsage(usage: string): usage is CertificateUsage {
  return Object.hasOwn(KEY_USAGE_BITS, usage) || Object.hasOwn(EXTENDED_KEY_USAGES, usage);
}

/** The numbers of the keyUsage bits, each once and in order. */
export function keyUsageBits(usages: readonly CertificateUsage[]): number[] {
  return lookUp(usages, new Map<string, number>(Object.entries(KEY_USAGE_BITS))).sort((a, b) => a - b);
}

/** The object identifiers of the extended usages, each once. */
export function extendedKeyUsages(usages: readonly CertificateUsage[]): string[] {
  return lookUp(usages, new Map<string, string>(Object.entries(EXTENDED_KEY_USAGES)));
}

function lookUp<T>(usages: readonly string[], table: ReadonlyMap<string, T>): T[] {
  return [...new Set(usages.map((usage) => table.get(usage)).filter((found) => found !== undefined))];
}
