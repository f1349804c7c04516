/**
 * Gives every Service of type LoadBalancer an address on this machine's loopback network, which stays its own.
 * Where a Service names a class of load balancers, somebody else is asked for.
 *
 * Key     Service namespace/name
 * Reads   Service
 * Writes  Service status.loadBalancer.ingress
 * Twin    cloud-controller-manager: service-lb-controller
 */
import { createHash } from "node:crypto";
import type { LoadBalancerIngress, Service } from "#api/core";
import { keyOf } from "#api/meta";
import type { ControllerParts } from "../manager.ts";
import type { ServerController } from "../runner.ts";
import type { Stored } from "../workloads/stored.ts";
import { SERVICES } from "./selection.ts";

export function loadBalancerController(parts: Pick<ControllerParts, "store" | "writer" | "teller">): ServerController {
  const { store, writer } = parts;
  const events = parts.teller("service-controller");
  return {
    name: "load-balancer",
    watches: [SERVICES],
    keysOf: ({ key, object }) => (isWaiting(object as Stored<Service>) ? [key] : []),

    async reconcile(key) {
      const service = store.get(SERVICES, key);
      if (!service || !isWaiting(service as Stored<Service>)) return undefined;
      const others = (store.list(SERVICES).items as Stored<Service>[]).filter((other) => keyOf(other) !== key);
      const ip = loopbackAddress(service.metadata.uid ?? key, new Set(others.flatMap(addressesOf)));
      await writer.change(
        SERVICES,
        key,
        (draft) => {
          if (!isWaiting(draft as Stored<Service>)) return draft;
          const ingress: LoadBalancerIngress[] = [{ ip, ipMode: "VIP" }];
          return { ...draft, status: { ...(draft.status as object), loadBalancer: { ingress } } };
        },
        "status",
      );
      events.tell(service, { reason: "EnsuredLoadBalancer", message: `Ensured load balancer at ${ip}` });
      return undefined;
    },
  };
}

/** For an address from us; one that anybody has written there already is kept. */
function isWaiting(service: Service): boolean {
  const { metadata, spec } = service;
  if (metadata.deletionTimestamp || spec.type !== "LoadBalancer" || spec.loadBalancerClass !== undefined) return false;
  return (service.status?.loadBalancer?.ingress ?? []).length === 0;
}

function addressesOf({ status }: Service): string[] {
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []);
}

/**
 * An address between 127.128.0.1 and 127.255.255.254, away from what programs choose by hand. It follows from the
 * seed, so that clusters which know nothing of each other hardly ever meet on this machine.
 */
export function loopbackAddress(seed: string, taken: ReadonlySet<string>): string {
  for (let attempt = 0; ; attempt++) {
    const [a = 0, b = 0, c = 0] = createHash("sha256").update(`${seed} ${attempt}`).digest();
    const address = `127.${128 + (a % 128)}.${b}.${1 + (c % 254)}`;
    if (!taken.has(address)) return address;
  }
}
