/**
 * Keeps the Endpoints of every Service that selects Pods, and takes away those whose Service is gone.
 *
 * Key     Service namespace/name, which is that of its Endpoints
 * Reads   Service, Pod, Endpoints
 * Writes  Endpoints
 * Twin    kube-controller-manager: endpoints-controller
 */
import {
  ENDPOINTS_MANAGED_BY,
  type EndpointSubset,
  type Endpoints,
  EndpointsAnnotation,
  HEADLESS_LABEL,
  type Service,
} from "#api/core";
import type { DynamicObject } from "#api/meta";
import { equal } from "#lib/json";
import { withAnnotations } from "#lib/meta";
import type { Store } from "../../store/index.ts";
import type { ServerController } from "../runner.ts";
import type { SystemWriter } from "../system.ts";
import { PODS } from "../workloads/pods.ts";
import type { Stored } from "../workloads/stored.ts";
import { unlessNamespaceEnds } from "./refusals.ts";
import { ENDPOINTS, isHeadless, isSelecting, SERVICES, selectedPods, servicesConcerned } from "./selection.ts";
import { countAddresses, MOST_ADDRESSES, repacked, subsetsOf, truncated } from "./subsets.ts";
import { triggerTimes } from "./trigger-times.ts";

const MANAGER = "endpoint-controller";
const TRUNCATED = "truncated";

export function endpointsController({ store, writer }: { store: Store; writer: SystemWriter }): ServerController {
  const times = triggerTimes();
  /** Services seen going. Endpoints that never had one are somebody's own; those of a Service go with it. */
  const departed = new Set<string>();
  return {
    name: "endpoints",
    watches: [SERVICES, PODS, ENDPOINTS],
    keysOf(event) {
      if (event.resource === SERVICES && event.type === "DELETED") departed.add(event.key);
      return event.resource === ENDPOINTS ? [event.key] : servicesConcerned(store, event);
    },

    async reconcile(key) {
      const service = store.get(SERVICES, key) as Stored<Service> | undefined;
      const current = store.get(ENDPOINTS, key);
      const hasDeparted = departed.delete(key);
      if (!service) {
        times.forget(key);
        if (current && (hasDeparted || isOurs(current))) await writer.remove(ENDPOINTS, current);
        return undefined;
      }
      if (!isSelecting(service)) return undefined;

      const pods = selectedPods(store, service);
      const at = times.look(service, pods);
      const wish = wishedFor(service, subsetsOf(service, pods));
      if (current && isFulfilled(current as Stored<Endpoints>, wish)) return undefined;
      if (current) await writer.change(ENDPOINTS, key, (draft) => written(draft, wish, at));
      else if (!service.metadata.deletionTimestamp) await create(service, wish, at);
      return undefined;
    },
  };

  async function create({ metadata: { namespace = "", name } }: Service, wish: Wish, at: string | undefined) {
    const empty = { apiVersion: "v1", kind: "Endpoints", metadata: { namespace, name } };
    await writer.create(ENDPOINTS, written(empty, wish, at)).catch(unlessNamespaceEnds);
  }
}

interface Wish {
  readonly labels: Record<string, string>;
  readonly subsets: readonly EndpointSubset[];
  readonly isTruncated: boolean;
}

function wishedFor(service: Service, subsets: readonly EndpointSubset[]): Wish {
  const { [HEADLESS_LABEL]: _, ...labels } = service.metadata.labels ?? {};
  const isTruncated = countAddresses(subsets) > MOST_ADDRESSES;
  return {
    labels: {
      ...labels,
      ...(isHeadless(service) && { [HEADLESS_LABEL]: "" }),
      [ENDPOINTS_MANAGED_BY]: MANAGER,
    },
    subsets: isTruncated ? truncated(subsets) : subsets,
    isTruncated,
  };
}

function isFulfilled({ metadata, subsets = [] }: Endpoints, wish: Wish): boolean {
  return (
    equal(metadata.labels, wish.labels) &&
    (metadata.annotations?.[EndpointsAnnotation.overCapacity] === TRUNCATED) === wish.isTruncated &&
    equal(repacked(subsets), wish.subsets)
  );
}

function written(draft: DynamicObject, { labels, subsets, isTruncated }: Wish, at: string | undefined): DynamicObject {
  return withAnnotations(
    { ...draft, metadata: { ...draft.metadata, labels }, subsets },
    {
      [EndpointsAnnotation.lastChangeTriggerTime]: at || undefined,
      [EndpointsAnnotation.overCapacity]: isTruncated ? TRUNCATED : undefined,
    },
  );
}

function isOurs({ metadata }: DynamicObject): boolean {
  return metadata.labels?.[ENDPOINTS_MANAGED_BY] === MANAGER;
}
