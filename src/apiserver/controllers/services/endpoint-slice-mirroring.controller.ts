/**
 * Repeats Endpoints that somebody wrote by hand as EndpointSlices, for those who read only slices.
 *
 * Key     Endpoints namespace/name, which is that of their Service
 * Reads   Endpoints, Service, EndpointSlice
 * Writes  EndpointSlices that carry our name as their manager
 * Twin    kube-controller-manager: endpointslicemirroring-controller
 */
import { isIP } from "node:net";
import {
  type EndpointAddress,
  type EndpointSubset,
  type Endpoints,
  EndpointsAnnotation,
  type EndpointsPort,
  type Service,
} from "#api/core";
import { type EndpointPort, type EndpointSlice, type SliceEndpoint, SliceLabel } from "#api/discovery";
import { type DynamicObject, keyOf } from "#api/meta";
import { equal } from "#lib/json";
import { isDeleting, ownerReference } from "#lib/meta";
import type { ControllerParts } from "../manager.ts";
import type { ServerController } from "../runner.ts";
import type { NamelessObject } from "../system.ts";
import type { Stored } from "../workloads/stored.ts";
import { managedSlices } from "./managed-slices.ts";
import { unlessNamespaceEnds } from "./refusals.ts";
import { ENDPOINTS, familyOf, SERVICES, SLICES } from "./selection.ts";
import { portKey } from "./slice-endpoints.ts";
import { repacked } from "./subsets.ts";

const MANAGER = "endpointslicemirroring-controller.k8s.io";
const LEADER_ANNOTATION = "control-plane.alpha.kubernetes.io/leader";
const NOT_REPEATED: ReadonlySet<string> = new Set([
  EndpointsAnnotation.lastChangeTriggerTime,
  "kubectl.kubernetes.io/last-applied-configuration",
]);

/** Of each subset; one subset becomes one slice of each family. */
const MOST_MIRRORED = 1000;

export function endpointSliceMirroringController(
  parts: Pick<ControllerParts, "store" | "writer" | "teller">,
): ServerController {
  const { store, writer } = parts;
  const events = parts.teller("endpoint-slice-mirroring-controller");
  const mirrored = managedSlices(store, writer, MANAGER);
  return {
    name: "endpoint-slice-mirroring",
    watches: [SERVICES, ENDPOINTS, SLICES],
    keysOf: (event) => (event.resource === SLICES ? mirrored.servicesIn(event) : [event.key]),

    async reconcile(key) {
      const endpoints = store.get(ENDPOINTS, key) as Stored<Endpoints> | undefined;
      const service = store.get(SERVICES, key) as Stored<Service> | undefined;
      const existing = mirrored.of(key);
      if (!endpoints || !service || !isMirrored(endpoints, service)) {
        await mirrored.remove(existing);
        return undefined;
      }

      const { slices, skipped, invalid } = mirrorOf(endpoints);
      const paired = pair(slices, existing);
      for (const { wish, slice } of paired.pairs) {
        if (slice && isFulfilled(slice, wish)) continue;
        if (slice) await writer.change(SLICES, keyOf(slice), (draft) => rewritten(draft, wish));
        else if (!isDeleting(endpoints)) await writer.create(SLICES, wish).catch(unlessNamespaceEnds);
      }
      await mirrored.remove(paired.rest);
      if (paired.hasChanged) tellOfSkipped(endpoints, skipped, invalid);
      return undefined;
    },
  };

  function tellOfSkipped(endpoints: Stored<Endpoints>, skipped: number, invalid: number): void {
    if (invalid > 0) {
      const message = `${invalid} addresses that are no IP addresses were not repeated in EndpointSlices`;
      events.tell(endpoints, { type: "Warning", reason: "InvalidIPAddress", message });
    }
    if (skipped > 0) {
      const message = `${skipped} addresses beyond the first ${MOST_MIRRORED} of a subset were not repeated in EndpointSlices`;
      events.tell(endpoints, { type: "Warning", reason: "TooManyAddressesToMirror", message });
    }
  }
}

/** Not those of Services that select Pods, which have slices already; nor what no Service is meant by. */
function isMirrored({ metadata }: Endpoints, { spec }: Service): boolean {
  if (Object.keys(spec.selector ?? {}).length > 0) return false;
  if (metadata.labels?.[SliceLabel.skipMirror] === "true") return false;
  return metadata.annotations?.[LEADER_ANNOTATION] === undefined;
}

type Mirrored = NamelessObject & Pick<EndpointSlice, "addressType" | "endpoints"> & { ports: EndpointPort[] };

interface Mirror {
  readonly slices: Mirrored[];
  /** How many addresses were left out, for want of room or because they are none. */
  readonly skipped: number;
  readonly invalid: number;
}

function mirrorOf(endpoints: Endpoints): Mirror {
  const parts = repacked(endpoints.subsets ?? []).map(partsOf);
  const slices = parts.flatMap(({ ports, listed }) =>
    (["IPv4", "IPv6"] as const).flatMap((family) => {
      const ofFamily = listed.filter(({ addresses: [first = ""] }) => familyOf(first) === family);
      return ofFamily.length === 0 ? [] : [sliceOf(endpoints, family, ofFamily, ports)];
    }),
  );
  return {
    slices,
    skipped: parts.reduce((all, { skipped }) => all + skipped, 0),
    invalid: parts.reduce((all, { invalid }) => all + invalid, 0),
  };
}

function partsOf({ addresses = [], notReadyAddresses = [], ports = [] }: EndpointSubset) {
  const all = [
    ...addresses.map((address) => endpointOf(address, true)),
    ...notReadyAddresses.map((address) => endpointOf(address, false)),
  ];
  const valid = all.filter(({ addresses: [first = ""] }) => isIP(first) !== 0);
  const listed = valid.slice(0, MOST_MIRRORED);
  return {
    ports: ports.map(portOf),
    listed,
    skipped: valid.length - listed.length,
    invalid: all.length - valid.length,
  };
}

function endpointOf({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): SliceEndpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname && { hostname }),
    ...(targetRef && { targetRef }),
    ...(nodeName && { nodeName }),
  };
}

function portOf({ name = "", port, protocol = "TCP", appProtocol }: EndpointsPort): EndpointPort {
  return { name, protocol, port, ...(appProtocol !== undefined && { appProtocol }) };
}

function sliceOf(
  endpoints: Endpoints,
  addressType: "IPv4" | "IPv6",
  listed: SliceEndpoint[],
  ports: EndpointPort[],
): Mirrored {
  const { namespace = "", name, labels, annotations = {} } = endpoints.metadata;
  const repeated = Object.entries(annotations).filter(([annotation]) => !NOT_REPEATED.has(annotation));
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      generateName: `${name}-`,
      labels: { ...labels, [SliceLabel.serviceName]: name, [SliceLabel.managedBy]: MANAGER },
      ...(repeated.length > 0 && { annotations: Object.fromEntries(repeated) }),
      ownerReferences: [ownerReference(endpoints)],
    },
    addressType,
    endpoints: listed,
    ports,
  };
}

interface Pairs {
  readonly pairs: readonly { readonly wish: Mirrored; readonly slice: Stored<EndpointSlice> | undefined }[];
  /** What nobody wishes for any longer. */
  readonly rest: readonly Stored<EndpointSlice>[];
  readonly hasChanged: boolean;
}

/** To every wish the slice that has its ports already, or else one that would go. */
function pair(wishes: readonly Mirrored[], existing: readonly Stored<EndpointSlice>[]): Pairs {
  const rest = [...existing];
  const takeOut = (fits: (slice: Stored<EndpointSlice>) => boolean) => {
    const index = rest.findIndex(fits);
    return index < 0 ? undefined : rest.splice(index, 1)[0];
  };
  const exact = wishes.map(({ addressType, ports }) =>
    takeOut((slice) => slice.addressType === addressType && portKey(slice.ports) === portKey(ports)),
  );
  const pairs = wishes.map((wish, index) => ({
    wish,
    slice: exact[index] ?? takeOut(({ addressType }) => addressType === wish.addressType),
  }));
  const hasChanged = rest.length > 0 || pairs.some(({ slice, wish }) => !slice || !isFulfilled(slice, wish));
  return { pairs, rest, hasChanged };
}

function isFulfilled(slice: Stored<EndpointSlice>, wish: Mirrored): boolean {
  const { labels, annotations = {}, ownerReferences } = slice.metadata;
  return (
    portKey(slice.ports) === portKey(wish.ports) &&
    equal(slice.endpoints, wish.endpoints) &&
    equal({ labels, annotations, ownerReferences }, { annotations: {}, ...pick(wish.metadata) })
  );
}

function rewritten(draft: DynamicObject, { metadata, endpoints, ports }: Mirrored): DynamicObject {
  const { annotations: _, ...kept } = draft.metadata;
  return { ...draft, metadata: { ...kept, ...pick(metadata) }, endpoints, ports };
}

function pick({ labels, annotations, ownerReferences }: Mirrored["metadata"]) {
  return {
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(ownerReferences && { ownerReferences }),
  };
}
