/** Addresses for Pods, from ranges that belong to one node each. */
import { createHash } from "node:crypto";
import type { Node, Pod } from "#api/core";

/** Above the addresses of Services (10.96.0.0/16): 512 ranges of 16,384 addresses. */
const FIRST_OCTETS = [10, 128] as const;
const RANGES = 512;
const RANGE_BITS = 14;

/** A range that no other node has: where a node's search begins its name decides, so that two seldom meet. */
export function freeRange(name: string, nodes: readonly Node[]): string {
  const taken = new Set(nodes.flatMap(({ spec }) => spec?.podCIDR ?? []));
  const start = createHash("sha256").update(name).digest().readUInt16BE(0);
  for (let step = 0; step < RANGES; step++) {
    const range = rangeAt((start + step) % RANGES);
    if (!taken.has(range)) return range;
  }
  throw new Error(`no range of addresses is free for node ${name}: ${RANGES} nodes have one`);
}

function rangeAt(index: number): string {
  const [first, second] = FIRST_OCTETS;
  const base = ((first << 24) >>> 0) + (second << 16) + index * 2 ** RANGE_BITS;
  return `${dotted(base)}/${32 - RANGE_BITS}`;
}

/** The addresses of one node's range: each Pod keeps its own, and an address rests before it is given again. */
export class PodAddresses {
  readonly #base: number;
  readonly #size: number;
  readonly #byPod = new Map<string, number>();
  readonly #taken = new Set<number>();
  #last: number;

  constructor(range: string) {
    const [address = "", bits = "32"] = range.split("/");
    this.#base = numberOf(address);
    this.#size = 2 ** (32 - Number(bits));
    this.#last = this.#base;
  }

  /** The address that the Pod has, or a new one. */
  of({ metadata: { uid = "" }, status }: Pod): string {
    const known = this.#byPod.get(uid);
    if (known !== undefined) return dotted(known);
    const reported = status?.podIP === undefined ? undefined : numberOf(status.podIP);
    const address = reported !== undefined && this.#isFree(reported) ? reported : this.#next();
    this.#byPod.set(uid, address);
    this.#taken.add(address);
    this.#last = address;
    return dotted(address);
  }

  release({ metadata: { uid = "" } }: Pod): void {
    const address = this.#byPod.get(uid);
    if (address === undefined) return;
    this.#byPod.delete(uid);
    this.#taken.delete(address);
  }

  #next(): number {
    for (let step = 1; step < this.#size; step++) {
      const address = this.#base + ((this.#last - this.#base + step) % this.#size);
      if (this.#isFree(address)) return address;
    }
    throw new Error(`all addresses of ${dotted(this.#base)} are taken`);
  }

  /** The first and the last address of a range are nobody's. */
  #isFree(address: number): boolean {
    return address > this.#base && address < this.#base + this.#size - 1 && !this.#taken.has(address);
  }
}

function numberOf(address: string): number {
  return address.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0);
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
}
