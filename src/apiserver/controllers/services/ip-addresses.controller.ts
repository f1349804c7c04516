/**
 * Writes down which Service has which cluster address, one IPAddress for each.
 *
 * Key     the address and the Service namespace/name, with a space in between
 * Reads   Service, IPAddress
 * Writes  IPAddresses that carry the allocator's name as their manager
 * Twin    kube-apiserver: service address allocator and its repair loop
 */
import type { Service } from "#api/core";
import { type DynamicObject, splitKey } from "#api/meta";
import { IP_MANAGER } from "../../service-addresses.ts";
import type { Store } from "../../store/index.ts";
import type { ServerController } from "../runner.ts";
import type { SystemWriter } from "../system.ts";
import type { Stored } from "../workloads/stored.ts";
import { familyOf, IP_ADDRESSES, SERVICES } from "./selection.ts";

const FAMILY_LABEL = "ipaddress.kubernetes.io/ip-family";

export function ipAddressesController({ store, writer }: { store: Store; writer: SystemWriter }): ServerController {
  const holds = (owner: string, address: string): boolean => {
    const service = store.get(SERVICES, owner) as Stored<Service> | undefined;
    return service !== undefined && addressesOf(service).includes(address);
  };
  return {
    name: "ip-addresses",
    watches: [SERVICES, IP_ADDRESSES],
    keysOf({ resource, key, object, previous }) {
      if (resource === IP_ADDRESSES) return isOurs(object) ? [`${key} ${ownerOf(object)}`] : [];
      const services = [object, ...(previous ? [previous] : [])] as Stored<Service>[];
      return [...new Set(services.flatMap(addressesOf))].map((address) => `${address} ${key}`);
    },
    async reconcile(key) {
      const [address = "", owner = ""] = key.split(" ");
      const current = store.get(IP_ADDRESSES, address);
      const isStale = current !== undefined && isOurs(current) && !holds(ownerOf(current), address);
      if (isStale) await writer.remove(IP_ADDRESSES, current);
      if ((!current || isStale) && holds(owner, address)) await writer.ensure(IP_ADDRESSES, recordOf(address, owner));
      return undefined;
    },
  };
}

function addressesOf({ spec: { clusterIPs = [] } }: Service): string[] {
  return clusterIPs.filter((address) => address !== "" && address !== "None");
}

function isOurs({ metadata }: DynamicObject): boolean {
  return metadata.labels?.[IP_MANAGER.label] === IP_MANAGER.name;
}

function ownerOf({ spec }: DynamicObject): string {
  const { parentRef = {} } = (spec ?? {}) as { parentRef?: { namespace?: string; name?: string } };
  return `${parentRef.namespace ?? ""}/${parentRef.name ?? ""}`;
}

function recordOf(address: string, owner: string): DynamicObject {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "IPAddress",
    metadata: { name: address, labels: { [FAMILY_LABEL]: familyOf(address), [IP_MANAGER.label]: IP_MANAGER.name } },
    spec: { parentRef: { resource: "services", ...splitKey(owner) } },
  };
}
