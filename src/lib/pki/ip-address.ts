import { PkiError } from "./error.ts";

/** The four or sixteen bytes that a certificate holds for an address. */
export function addressBytes(address: string): Buffer {
  const bytes = address.includes(":") ? version6(address) : version4(address);
  if (!bytes) throw new PkiError(`"${address}" is no IP address`);
  return Buffer.from(bytes);
}

/** The address in text; IPv6 with its longest run of zeros left out. */
export function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) throw new PkiError("subject alternative name: an IP address of a wrong length");
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(i * 2).toString(16));
  const runs = [
    ...groups
      .map((group) => (group === "0" ? "0" : "x"))
      .join("")
      .matchAll(/00+/g),
  ];
  const longest = runs.reduce<{ at: number; length: number } | undefined>((best, { index, 0: run }) => {
    return best && best.length >= run.length ? best : { at: index, length: run.length };
  }, undefined);
  if (!longest) return groups.join(":");
  return `${groups.slice(0, longest.at).join(":")}::${groups.slice(longest.at + longest.length).join(":")}`;
}

const DECIMAL_BYTE = /^(0|[1-9]\d{0,2})$/;
const HEX_GROUP = /^[0-9a-f]{1,4}$/i;

function version4(text: string): number[] | undefined {
  const parts = text.split(".");
  const valid = parts.length === 4 && parts.every((part) => DECIMAL_BYTE.test(part) && Number(part) < 256);
  return valid ? parts.map(Number) : undefined;
}

function version6(text: string): number[] | undefined {
  const [head = "", tail, ...more] = text.split("::");
  if (more.length > 0) return undefined;
  const before = groupBytes(head);
  const after = tail === undefined ? [] : groupBytes(tail);
  if (!before || !after) return undefined;
  const missing = 16 - before.length - after.length;
  if (tail === undefined ? missing !== 0 : missing < 2) return undefined;
  return [...before, ...new Array<number>(missing).fill(0), ...after];
}

/** The last group may be an IPv4 address. */
function groupBytes(text: string): number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [index, group] of groups.entries()) {
    const embedded = index === groups.length - 1 && group.includes(".") ? version4(group) : undefined;
    if (embedded) bytes.push(...embedded);
    else if (HEX_GROUP.test(group)) bytes.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff);
    else return undefined;
  }
  return bytes;
}
