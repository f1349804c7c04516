/**
 * Keeps the Service by which Pods find the API server, and what stands behind it: nothing selects the server, so
 * it says itself where it is.
 *
 * Key     where an object is stored and its key, with a space in between
 * Reads   Service, Endpoints, EndpointSlice `default/kubernetes`; the first ServiceCIDR
 * Writes  the same
 * Twin    kube-apiserver: kubernetesservice and defaultservicecidr controllers
 */
import { type DynamicObject, keyOf } from "#api/meta";
import { equal } from "#lib/json";
import type { Store } from "../../store/index.ts";
import type { ServerController } from "../runner.ts";
import type { SystemWriter } from "../system.ts";

export interface OwnObject {
  readonly storage: string;
  readonly object: DynamicObject;
}

/** Where the server is. Of a Service or a range, everything else is given to it once and stays. */
const PLACE = ["subsets", "addressType", "endpoints", "ports"] as const;

export function kubernetesServiceController(options: {
  store: Store;
  writer: SystemWriter;
  ownService: readonly OwnObject[];
}): ServerController {
  const { store, writer, ownService } = options;
  const wishes = new Map(ownService.map(({ storage, object }) => [`${storage} ${keyOf(object)}`, { storage, object }]));
  return {
    name: "kubernetes-service",
    watches: ownService.map(({ storage }) => storage),
    keysOf({ resource, key }) {
      const own = `${resource} ${key}`;
      return wishes.has(own) ? [own] : [];
    },
    async reconcile(own) {
      const wish = wishes.get(own);
      if (!wish) return undefined;
      const { storage, object } = wish;
      const current = store.get(storage, keyOf(object));
      if (!current) await writer.ensure(storage, object);
      else if (PLACE.some((part) => part in object && !equal(current[part], object[part]))) {
        await writer.change(storage, keyOf(object), (draft) => ({ ...draft, ...placeIn(object) }));
      }
      return undefined;
    },
  };
}

function placeIn(object: DynamicObject): Record<string, unknown> {
  return Object.fromEntries(PLACE.filter((part) => part in object).map((part) => [part, object[part]]));
}
