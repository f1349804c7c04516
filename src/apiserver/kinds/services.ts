/** Services: addresses and ports that stay while Pods come and go. */
import type { DynamicObject } from "#api/meta";
import { clone } from "#lib/json";
import type { GroupVersionKind, RequestContext, Resource } from "../resource.ts";
import type { KindDependencies } from "./dependencies.ts";
import { at, ensure, type Fields, fieldsAt, fill, fillText, isAbsent, objectsAt, textAt } from "./fields.ts";
import { allocate } from "./service-allocation.ts";
import { agreeOnAddresses, dropBalancer, dropUseless, keepGiven } from "./service-changes.ts";
import { isOutside, needsAddress } from "./service-types.ts";
import {
  serviceWarnings,
  validateBalancerStatus,
  validateService,
  validateServiceChange,
} from "./service-validation.ts";
import { resource } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import { services as table } from "./tables/core.ts";

const KIND: GroupVersionKind = { group: "", version: "v1", kind: "Service" };
const STICKY_SECONDS = 10_800;

export function services({ addresses }: Pick<KindDependencies, "addresses">): Resource {
  return resource({
    ...KIND,
    showsDeleted: true,
    plural: "services",
    namespaced: true,
    shortNames: ["svc"],
    categories: ["all"],
    table,
    hasStatus: true,
    createOnUpdate: true,
    nameRule: "label",
    selectableFields: {
      "spec.clusterIP": (service) => textAt(service, "spec", "clusterIP"),
      "spec.type": (service) => textAt(service, "spec", "type"),
    },
    default: defaultService,
    prepareForCreate(draft, context) {
      const spec = ensure(draft, "spec");
      agreeOnAddresses(spec, undefined);
      allocate({ draft, addresses, dryRun: context.dryRun });
      finish(draft, context);
    },
    prepareForUpdate(draft, current, context) {
      const spec = ensure(draft, "spec");
      const before = clone(fieldsAt(current, "spec"));
      keepGiven(spec, before);
      agreeOnAddresses(spec, before);
      allocate({ draft, before, addresses, dryRun: context.dryRun });
      dropUseless(spec, before);
      dropBalancer(draft);
      finish(draft, context);
    },
    validate: validateService,
    validateChange: validateServiceChange,
    subresources: [statusOf(KIND, { validate: validateBalancerStatus })],
  });
}

function defaultService(draft: DynamicObject): void {
  const spec = ensure(draft, "spec");
  fillText(spec, { sessionAffinity: "None", type: "ClusterIP" });
  defaultAffinity(spec);
  for (const port of objectsAt(spec, "ports")) {
    fillText(port, { protocol: "TCP" });
    if (!port.targetPort) port.targetPort = port.port;
  }
  if (isOutside(spec)) fillText(spec, { externalTrafficPolicy: "Cluster" });
  if (needsAddress(spec)) fillText(spec, { internalTrafficPolicy: "Cluster" });
  if (spec.type !== "LoadBalancer") return;
  fill(spec, { allocateLoadBalancerNodePorts: true });
  for (const point of objectsAt(draft, "status", "loadBalancer", "ingress")) {
    if (textAt(point, "ip")) fill(point, { ipMode: "VIP" });
  }
}

function defaultAffinity(spec: Fields): void {
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity !== "ClientIP") return;
  if (isAbsent(at(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds"))) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: STICKY_SECONDS } };
  }
}

function finish(draft: DynamicObject, { warn }: RequestContext): void {
  const spec = fieldsAt(draft, "spec");
  // Nothing is routed to a mere name, so it has no policy; it may come along from an earlier type.
  if (!needsAddress(spec)) delete spec.internalTrafficPolicy;
  for (const text of serviceWarnings(draft)) warn(text);
}
