/**
 * Says of every ServiceCIDR that it can be used, and keeps a deleted one while addresses out of it are in use.
 *
 * Key     ServiceCIDR name
 * Reads   ServiceCIDR, IPAddress
 * Writes  ServiceCIDR finalizer; condition Ready
 * Twin    kube-controller-manager: service-cidr-controller
 */
import type { Condition, DynamicObject } from "#api/meta";
import type { Clock } from "#lib/clock";
import { setCondition } from "#lib/conditions";
import { containsBlock, containsIp, type IpBlock, parseBlock, parseIp } from "#lib/ip";
import { hasFinalizer, isDeleting, withFinalizer, withoutFinalizer } from "#lib/meta";
import { IP_MANAGER } from "../../service-addresses.ts";
import type { Store } from "../../store/index.ts";
import type { ServerController } from "../runner.ts";
import type { SystemWriter } from "../system.ts";
import { IP_ADDRESSES, SERVICE_CIDRS } from "./selection.ts";

const FINALIZER = "networking.k8s.io/service-cidr-finalizer";

const READY = { type: "Ready", status: "True", reason: "", message: "Kubernetes Service CIDR is ready" } as const;
const TERMINATING = {
  type: "Ready",
  status: "False",
  reason: "Terminating",
  message: "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
} as const;

export function serviceRangesController(options: {
  store: Store;
  writer: SystemWriter;
  clock: Clock;
}): ServerController {
  const { store, writer, clock } = options;
  const all = () => store.list(SERVICE_CIDRS).items;
  const report = async (name: string, claim: typeof READY | typeof TERMINATING) => {
    await writer.change(SERVICE_CIDRS, name, (draft) => withCondition(draft, claim, clock.now()), "status");
  };
  return {
    name: "service-ranges",
    watches: [SERVICE_CIDRS, IP_ADDRESSES],
    // Any of them may now hold, or no longer hold, what keeps a deleted one alive.
    keysOf: ({ resource, key }) => [
      ...(resource === SERVICE_CIDRS ? [key] : []),
      ...all()
        .filter((range) => isDeleting(range) && range.metadata.name !== key)
        .map(({ metadata }) => metadata.name),
    ],
    async reconcile(name) {
      const range = store.get(SERVICE_CIDRS, name);
      if (!range) return undefined;
      if (!isDeleting(range)) {
        if (!hasFinalizer(range, FINALIZER)) {
          await writer.change(SERVICE_CIDRS, name, (draft) =>
            isDeleting(draft) ? draft : withFinalizer(draft, FINALIZER),
          );
        }
        await report(name, READY);
      } else if (isNeeded(range)) await report(name, TERMINATING);
      else await writer.change(SERVICE_CIDRS, name, (draft) => withoutFinalizer(draft, FINALIZER));
      return undefined;
    },
  };

  /** Whether an address in use lies in no other range. */
  function isNeeded(range: DynamicObject): boolean {
    const others = all()
      .filter(({ metadata }) => metadata.name !== range.metadata.name)
      .flatMap(blocksOf);
    const orphaned = blocksOf(range).filter((block) => !others.some((other) => containsBlock(other, block)));
    if (orphaned.length === 0) return false;
    return store.list(IP_ADDRESSES).items.some(({ metadata }) => {
      const ip = parseIp(metadata.name);
      if (!ip || metadata.labels?.[IP_MANAGER.label] !== IP_MANAGER.name) return false;
      const lies = (block: IpBlock) => containsIp(block, ip);
      return orphaned.some(lies) && !others.some(lies);
    });
  }
}

function blocksOf({ spec }: DynamicObject): IpBlock[] {
  return ((spec as { cidrs?: string[] } | undefined)?.cidrs ?? []).flatMap((text) => parseBlock(text) ?? []);
}

function withCondition(draft: DynamicObject, claim: typeof READY | typeof TERMINATING, now: Date): DynamicObject {
  const status = (draft.status ?? {}) as { conditions?: Condition[] };
  const conditions = setCondition(status.conditions, claim, now);
  return conditions === status.conditions ? draft : { ...draft, status: { ...status, conditions } };
}
