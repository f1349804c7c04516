/**
 * Keeps the EndpointSlices of every Service that selects Pods.
 *
 * Key     Service namespace/name
 * Reads   Service, Pod, Node, EndpointSlice
 * Writes  EndpointSlices that carry our name as their manager
 * Twin    kube-controller-manager: endpointslice-controller
 */
import { EndpointsAnnotation, HEADLESS_LABEL, type Node, type Service } from "#api/core";
import { type EndpointSlice, SliceLabel } from "#api/discovery";
import { type DynamicObject, keyOf } from "#api/meta";
import { equal } from "#lib/json";
import { isOwnedBy, ownerReference, withAnnotations } from "#lib/meta";
import type { Store } from "../../store/index.ts";
import type { ServerController } from "../runner.ts";
import type { SystemWriter } from "../system.ts";
import { PODS } from "../workloads/pods.ts";
import type { Stored } from "../workloads/stored.ts";
import { managedSlices } from "./managed-slices.ts";
import { unlessNamespaceEnds } from "./refusals.ts";
import { isHeadless, isSelecting, NODES, SERVICES, SLICES, selectedPods, servicesConcerned } from "./selection.ts";
import { addressTypesOf, portGroups } from "./slice-endpoints.ts";
import { planSlices, type SliceContent, type SlicePlan } from "./slice-plan.ts";
import { triggerTimes } from "./trigger-times.ts";

const MANAGER = "endpointslice-controller.k8s.io";

/** Labels that are not taken over from the Service. */
const RESERVED: ReadonlySet<string> = new Set([SliceLabel.serviceName, SliceLabel.managedBy, HEADLESS_LABEL]);

export function endpointSlicesController({ store, writer }: { store: Store; writer: SystemWriter }): ServerController {
  const times = triggerTimes();

  const slices = managedSlices(store, writer, MANAGER);
  const nodeOf = (name: string) => store.get(NODES, name) as Stored<Node> | undefined;
  const write = async (service: Service, type: "IPv4" | "IPv6", plan: SlicePlan, at: string | undefined) => {
    const labels = labelsFor(service);
    for (const content of service.metadata.deletionTimestamp ? [] : plan.create) {
      const slice = annotated(newSlice(service, type, content, labels), at);
      await writer.create(SLICES, slice).catch(unlessNamespaceEnds);
    }
    for (const { slice, content } of plan.update) {
      await writer.change(SLICES, keyOf(slice), (draft) =>
        annotated({ ...draft, ...content, metadata: { ...draft.metadata, labels } }, at),
      );
    }
    await slices.remove(plan.remove);
  };

  return {
    name: "endpoint-slices",
    watches: [SERVICES, PODS, NODES, SLICES],
    keysOf: (event) => (event.resource === SLICES ? slices.servicesIn(event) : servicesConcerned(store, event)),

    async reconcile(key) {
      const service = store.get(SERVICES, key) as Stored<Service> | undefined;
      if (!service) {
        times.forget(key);
        return undefined; // the garbage collector takes the slices of a Service that is gone
      }
      if (!isSelecting(service)) return undefined;

      const pods = selectedPods(store, service);
      const at = times.look(service, pods);
      const labels = labelsFor(service);
      const existing = slices.of(key).filter(({ metadata }) => !metadata.deletionTimestamp);
      const types: readonly string[] = addressTypesOf(service);
      const isUsable = (slice: EndpointSlice) => types.includes(slice.addressType) && isOwnedBy(slice, service);
      for (const type of addressTypesOf(service)) {
        const plan = planSlices({
          groups: portGroups({ service, pods, nodeOf }, type),
          existing: existing.filter((slice) => isUsable(slice) && slice.addressType === type),
          isLabelled: ({ metadata }) => equal(metadata.labels, labels),
        });
        await write(service, type, plan, at);
      }
      await slices.remove(existing.filter((slice) => !isUsable(slice)));
      return undefined;
    },
  };
}

function labelsFor(service: Service): Record<string, string> {
  const { name, labels = {} } = service.metadata;
  return {
    ...Object.fromEntries(Object.entries(labels).filter(([label]) => !RESERVED.has(label))),
    ...(isHeadless(service) && { [HEADLESS_LABEL]: "" }),
    [SliceLabel.serviceName]: name,
    [SliceLabel.managedBy]: MANAGER,
  };
}

function newSlice(
  service: Service,
  addressType: "IPv4" | "IPv6",
  { ports, endpoints }: SliceContent,
  labels: Record<string, string>,
) {
  const { namespace = "", name } = service.metadata;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace, generateName: `${name}-`, labels, ownerReferences: [ownerReference(service)] },
    addressType,
    endpoints,
    ports,
  };
}

/** Without a time there is nothing to measure by, and an old one would be measured wrongly. */
function annotated<T extends { metadata: object }>(slice: T, at: string | undefined): T {
  return withAnnotations(slice as T & DynamicObject, { [EndpointsAnnotation.lastChangeTriggerTime]: at || undefined });
}
