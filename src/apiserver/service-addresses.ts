/** Addresses and node ports of Services: free ones, or the ones wished for. */
import { randomInt } from "node:crypto";
import type { DynamicObject } from "#api/meta";
import { SERVICE_ADDRESS } from "./identity.ts";
import type { ServiceAddresses } from "./kinds/index.ts";
import type { Store } from "./store/index.ts";

const SERVICES = "core/services";
const PREFIX = "10.96.";
const NODE_PORTS = { first: 30_000, last: 32_767 } as const;

interface ServiceSpec {
  readonly clusterIP?: string;
  readonly ports?: readonly { readonly nodePort?: number }[];
}

export function createServiceAddresses(store: Store): ServiceAddresses {
  const others = ({ namespace, name }: { namespace: string; name: string }): ServiceSpec[] =>
    store
      .list(SERVICES)
      .items.filter(({ metadata }) => metadata.namespace !== namespace || metadata.name !== name)
      .map((service: DynamicObject) => (service.spec ?? {}) as ServiceSpec);

  return {
    clusterIp({ address, ...service }) {
      const used = new Set(others(service).map(({ clusterIP }) => clusterIP));
      const isKubernetes = service.namespace === "default" && service.name === "kubernetes";
      if (address !== undefined) {
        if (!isInRange(address))
          return { refused: `provided IP is not in the valid range. The range of valid IPs is ${PREFIX}0.0/16` };
        return used.has(address) ? { refused: "provided IP is already allocated" } : { value: address };
      }
      if (isKubernetes) return { value: SERVICE_ADDRESS };
      for (let attempt = 0; attempt < 65_536; attempt++) {
        const candidate = `${PREFIX}${randomInt(1, 256)}.${randomInt(1, 255)}`;
        if (!used.has(candidate)) return { value: candidate };
      }
      return { refused: "the range of addresses is full" };
    },
    nodePort({ port, taken, ...service }) {
      const used = new Set([
        ...taken,
        ...others(service).flatMap(({ ports = [] }) => ports.map(({ nodePort }) => nodePort ?? 0)),
      ]);
      if (port !== undefined) {
        if (port < NODE_PORTS.first || port > NODE_PORTS.last) {
          return {
            refused: `provided port is not in the valid range. The range of valid ports is ${NODE_PORTS.first}-${NODE_PORTS.last}`,
          };
        }
        return used.has(port) ? { refused: "provided port is already allocated" } : { value: port };
      }
      for (let candidate: number = NODE_PORTS.first; candidate <= NODE_PORTS.last; candidate++) {
        if (!used.has(candidate)) return { value: candidate };
      }
      return { refused: "the range of ports is full" };
    },
  };
}

function isInRange(address: string): boolean {
  return (
    address.startsWith(PREFIX) &&
    /^(\d{1,3}\.){3}\d{1,3}$/.test(address) &&
    address.split(".").every((part) => Number(part) <= 255)
  );
}
