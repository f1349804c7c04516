/** The EndpointSlices that carry the name of one manager: finding them, hearing of them, and taking them away. */
import { type EndpointSlice, SliceLabel } from "#api/discovery";
import { type DynamicObject, splitKey } from "#api/meta";
import type { Store } from "../../store/index.ts";
import type { Occurrence } from "../runner.ts";
import type { SystemWriter } from "../system.ts";
import type { Stored } from "../workloads/stored.ts";
import { SLICES } from "./selection.ts";

export interface ManagedSlices {
  /** Those of the Service with that key. */
  of(key: string): Stored<EndpointSlice>[];
  /** The Service that the slice of an event belongs to: two where somebody moved it from one to the other. */
  servicesIn(event: Occurrence): readonly string[];
  remove(slices: readonly Stored<EndpointSlice>[]): Promise<void>;
}

export function managedSlices(store: Store, writer: SystemWriter, manager: string): ManagedSlices {
  const isOurs = ({ metadata }: Pick<DynamicObject, "metadata">) => metadata.labels?.[SliceLabel.managedBy] === manager;
  return {
    of(key) {
      const { namespace = "", name } = splitKey(key);
      const all = store.list(SLICES, { namespace }).items as Stored<EndpointSlice>[];
      return all.filter((slice) => isOurs(slice) && slice.metadata.labels?.[SliceLabel.serviceName] === name);
    },
    servicesIn({ object, previous }) {
      const slices = [object, ...(previous ? [previous] : [])].filter(isOurs);
      const keys = slices.flatMap(({ metadata: { namespace = "", labels } }) => {
        const name = labels?.[SliceLabel.serviceName];
        return name ? [`${namespace}/${name}`] : [];
      });
      return [...new Set(keys)];
    },
    async remove(slices) {
      for (const slice of slices) await writer.remove(SLICES, slice);
    },
  };
}
