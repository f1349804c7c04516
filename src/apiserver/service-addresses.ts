/** Addresses and node ports of Services: free ones, or the ones wished for. */
import { randomInt } from "node:crypto";
import type { DynamicObject } from "#api/meta";
import type { Clock } from "#lib/clock";
import { isTrue } from "#lib/conditions";
import { containsIp, type Ip, type IpBlock, ipText, parseBlock, parseIp } from "#lib/ip";
import { SERVICE_ADDRESS } from "./identity.ts";
import type { Allocation, ServiceAddresses } from "./kinds/index.ts";
import type { Store } from "./store/index.ts";

const SERVICES = "core/services";
const SERVICE_CIDRS = "networking.k8s.io/servicecidrs";
const IP_ADDRESSES = "networking.k8s.io/ipaddresses";

/** Out of which Services are given addresses as long as no ServiceCIDR says otherwise. */
export const SERVICE_RANGE = "10.96.0.0/16";
export const IP_MANAGER = { label: "ipaddress.kubernetes.io/managed-by", name: "ipallocator.k8s.io" } as const;

const NODE_PORTS = { first: 30_000, last: 32_767 } as const;
/** The lower ports are left to those who choose one themselves. */
const FIRST_CHOSEN_PORT = 30_086;

/** Between the answer and the write lie moments; what is not stored by then never will be. */
const PROMISE_MS = 5_000;

/** Chosen by chance, so that an address is not given to somebody else right after it was let go. */
const RANDOM_TRIES = 64;

export function createServiceAddresses(store: Store, clock: Clock): ServiceAddresses {
  const addresses = new Claims<string>(clock);
  const ports = new Claims<number>(clock);
  const settle = (key: string, service: DynamicObject | undefined) => {
    const { clusterIPs = [], ports: listed = [], healthCheckNodePort } = (service?.spec ?? {}) as ServiceSpec;
    addresses.settle(key, clusterIPs);
    ports.settle(
      key,
      [...listed.map(({ nodePort }) => nodePort), healthCheckNodePort].filter((port) => port !== undefined),
    );
  };
  store.subscribe(({ resource, type, key, object }) => {
    if (resource === SERVICES) settle(key, type === "DELETED" ? undefined : object);
  });
  for (const service of store.list(SERVICES).items) {
    settle(`${service.metadata.namespace}/${service.metadata.name}`, service);
  }

  return {
    clusterIp({ namespace, name, address, dryRun = false }) {
      const owner = `${namespace}/${name}`;
      const ranges = rangesOf(store);
      const isFree = (candidate: string) => addresses.isFree(candidate, owner) && !isForeign(store, candidate);
      const wished = address ?? (owner === "default/kubernetes" ? SERVICE_ADDRESS : undefined);
      if (wished !== undefined) {
        const ip = parseIp(wished);
        if (!ip || !ranges.some((range) => isUsable(range, ip))) {
          return { refused: "the provided network does not match the current range" };
        }
        if (!isFree(wished)) return { refused: "provided IP is already allocated" };
        return addresses.give(wished, owner, dryRun);
      }
      for (const range of ranges) {
        const found = freeIn(range, isFree);
        if (found !== undefined) return addresses.give(found, owner, dryRun);
      }
      return { refused: "range is full" };
    },
    nodePort({ namespace, name, port, taken, dryRun = false }) {
      const owner = `${namespace}/${name}`;
      const isFree = (candidate: number) => !taken.includes(candidate) && ports.isFree(candidate, owner);
      if (port === undefined) {
        const found = freePort(isFree);
        return found === undefined ? { refused: "range is full" } : ports.give(found, owner, dryRun);
      }
      if (port < NODE_PORTS.first || port > NODE_PORTS.last) {
        const range = `${NODE_PORTS.first}-${NODE_PORTS.last}`;
        return { refused: `provided port is not in the valid range. The range of valid ports is ${range}` };
      }
      return isFree(port) ? ports.give(port, owner, dryRun) : { refused: "provided port is already allocated" };
    },
  };
}

interface ServiceSpec {
  readonly clusterIPs?: readonly string[];
  readonly ports?: readonly { readonly nodePort?: number }[];
  readonly healthCheckNodePort?: number;
}

/** Who holds what: by what is stored, and for a moment by what was promised and is on its way there. */
class Claims<T> {
  readonly #clock: Clock;
  readonly #held = new Map<T, Set<string>>();
  readonly #byOwner = new Map<string, readonly T[]>();
  readonly #promised = new Map<T, { readonly owner: string; readonly until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isFree(value: T, owner: string): boolean {
    const holders = this.#held.get(value);
    if (holders && [...holders].some((holder) => holder !== owner)) return false;
    const promise = this.#promised.get(value);
    return !promise || promise.owner === owner || promise.until < this.#clock.now().getTime();
  }

  give(value: T, owner: string, dryRun: boolean): Allocation<T> {
    if (dryRun) return { value };
    const now = this.#clock.now().getTime();
    for (const [promised, { until }] of this.#promised) if (until < now) this.#promised.delete(promised);
    this.#promised.set(value, { owner, until: now + PROMISE_MS });
    return { value };
  }

  /** What the owner holds from now on; what was promised to it has been kept or is void. */
  settle(owner: string, values: readonly T[]): void {
    for (const value of this.#byOwner.get(owner) ?? []) {
      const holders = this.#held.get(value);
      holders?.delete(owner);
      if (holders?.size === 0) this.#held.delete(value);
    }
    for (const [value, promise] of this.#promised) if (promise.owner === owner) this.#promised.delete(value);
    if (values.length === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, values);
    for (const value of values) {
      const holders = this.#held.get(value) ?? new Set();
      holders.add(owner);
      this.#held.set(value, holders);
    }
  }
}

/** The blocks that are ready to be used; the one that every cluster begins with before any is. */
function rangesOf(store: Store): IpBlock[] {
  const ready = store.list(SERVICE_CIDRS).items.filter(({ metadata, status }) => {
    const { conditions } = (status ?? {}) as { conditions?: { type: string; status: string }[] };
    return !metadata.deletionTimestamp && isTrue(conditions, "Ready");
  });
  const named = ready.flatMap(({ spec }) => (spec as { cidrs?: string[] }).cidrs ?? []);
  const blocks = (named.length > 0 ? named : [SERVICE_RANGE]).flatMap((text) => parseBlock(text) ?? []);
  return blocks.filter(({ address }) => address.family === 4);
}

/** Not the first address of a block, which means the block itself, nor the last, which means all of it. */
function isUsable(range: IpBlock, ip: Ip): boolean {
  const offset = ip.bits - range.address.bits;
  return containsIp(range, ip) && offset > 0n && offset < sizeOf(range) - 1;
}

function sizeOf({ prefixLength }: IpBlock): number {
  return 2 ** (32 - prefixLength);
}

/** Somebody may have taken an address for something that is no Service. */
function isForeign(store: Store, address: string): boolean {
  const object = store.head(IP_ADDRESSES, address);
  return object !== undefined && object.metadata.labels?.[IP_MANAGER.label] !== IP_MANAGER.name;
}

/** The lower part of a block is left to those who choose an address themselves. */
function freeIn(range: IpBlock, isFree: (address: string) => boolean): string | undefined {
  const size = sizeOf(range);
  const low = Math.min(Math.max(16, Math.floor(size / 16)), 256);
  const first = low < size - 1 ? low : 1;
  const at = (offset: number) => ipText({ family: 4, bits: range.address.bits + BigInt(offset) });
  for (let attempt = 0; attempt < RANDOM_TRIES && first < size - 1; attempt++) {
    const candidate = at(randomInt(first, size - 1));
    if (isFree(candidate)) return candidate;
  }
  for (let step = 0; step < size - 2; step++) {
    const candidate = at(1 + ((first - 1 + step) % (size - 2)));
    if (isFree(candidate)) return candidate;
  }
  return undefined;
}

function freePort(isFree: (port: number) => boolean): number | undefined {
  for (let attempt = 0; attempt < RANDOM_TRIES; attempt++) {
    const candidate = randomInt(FIRST_CHOSEN_PORT, NODE_PORTS.last + 1);
    if (isFree(candidate)) return candidate;
  }
  const count = NODE_PORTS.last - NODE_PORTS.first + 1;
  for (let step = 0; step < count; step++) {
    const candidate = NODE_PORTS.first + ((FIRST_CHOSEN_PORT - NODE_PORTS.first + step) % count);
    if (isFree(candidate)) return candidate;
  }
  return undefined;
}
