/** Tables of the kinds outside of the core and workload groups. */
import type { DynamicObject } from "#api/meta";
import { humanDuration } from "#lib/duration";
import { at, type Fields, fieldsAt, listAt, numberAt, objectsAt, textAt, textMapAt, textsAt } from "../fields.ts";
import { selectorText } from "../subresources.ts";
import { ageColumn, column, count, firstThree, layout, NONE, nameColumn, orNone, wide } from "./layout.ts";

const subjects = (kind: string, shown: (subject: Fields) => string) => (binding: DynamicObject) =>
  objectsAt(binding, "subjects")
    .filter((subject) => subject.kind === kind)
    .map(shown)
    .join(", ");

/** RoleBindings and ClusterRoleBindings. */
export const roleBindings = layout(
  nameColumn,
  column(
    "Role",
    "The role that is granted.",
    (binding) => `${textAt(binding, "roleRef", "kind")}/${textAt(binding, "roleRef", "name")}`,
  ),
  ageColumn,
  ...wide(
    column(
      "Users",
      "Users it is granted to.",
      subjects("User", (subject) => textAt(subject, "name")),
    ),
    column(
      "Groups",
      "Groups it is granted to.",
      subjects("Group", (subject) => textAt(subject, "name")),
    ),
    column(
      "ServiceAccounts",
      "Service accounts it is granted to.",
      subjects("ServiceAccount", (subject) => `${textAt(subject, "namespace")}/${textAt(subject, "name")}`),
    ),
  ),
);

export const certificateSigningRequests = layout(
  nameColumn,
  ageColumn,
  column("SignerName", "Who is asked to sign.", (csr) => textAt(csr, "spec", "signerName")),
  column("Requestor", "Who asks.", (csr) => textAt(csr, "spec", "username")),
  column("RequestedDuration", "For how long the certificate is to be valid.", (csr) => {
    const seconds = numberAt(csr, "spec", "expirationSeconds");
    return seconds === undefined ? NONE : humanDuration(seconds * 1000);
  }),
  column("Condition", "What was decided, and whether the certificate is there.", (csr) => {
    const types = new Set(objectsAt(csr, "status", "conditions").map(({ type }) => type));
    const decided = types.has("Denied") ? "Denied" : types.has("Approved") ? "Approved" : "Pending";
    return `${decided}${types.has("Failed") ? ",Failed" : ""}${textAt(csr, "status", "certificate") ? ",Issued" : ""}`;
  }),
);

export const leases = layout(
  nameColumn,
  column("Holder", "Who holds it.", (lease) => textAt(lease, "spec", "holderIdentity")),
  ageColumn,
);

export const ingresses = layout(
  nameColumn,
  column("Class", "Which controller serves it.", (ingress) => orNone(textAt(ingress, "spec", "ingressClassName"))),
  column("Hosts", "The hosts it answers for.", (ingress) => {
    const hosts = objectsAt(ingress, "spec", "rules").map((rule) => textAt(rule, "host"));
    const named = hosts.filter((host) => host !== "");
    return named.length === 0 ? "*" : firstThree(named);
  }),
  column("Address", "Where it is reached.", (ingress) =>
    objectsAt(ingress, "status", "loadBalancer", "ingress")
      .map((entry) => textAt(entry, "ip") || textAt(entry, "hostname"))
      .join(","),
  ),
  column("Ports", "The ports it answers on.", (ingress) =>
    listAt(ingress, "spec", "tls").length > 0 ? "80, 443" : "80",
  ),
  ageColumn,
);

export const ingressClasses = layout(
  nameColumn,
  column("Controller", "The controller of the class.", (object) => textAt(object, "spec", "controller")),
  column("Parameters", "The object with the controller's settings.", (object) => {
    const parameters = fieldsAt(object, "spec", "parameters");
    if (!parameters.name) return NONE;
    const kind = parameters.apiGroup ? `${parameters.kind}.${parameters.apiGroup}` : parameters.kind;
    return `${kind}/${parameters.name}`;
  }),
  ageColumn,
);

export const networkPolicies = layout(
  nameColumn,
  column("Pod-Selector", "The Pods it is about.", (object) => orNone(selectorText(at(object, "spec", "podSelector")))),
  ageColumn,
);

export const podDisruptionBudgets = layout(
  nameColumn,
  column("Min Available", "Pods that must stay.", (object) => String(at(object, "spec", "minAvailable") ?? "N/A")),
  column("Max Unavailable", "Pods that may be missing.", (object) =>
    String(at(object, "spec", "maxUnavailable") ?? "N/A"),
  ),
  count("Allowed Disruptions", "Pods that may be evicted now.", (object) =>
    numberAt(object, "status", "disruptionsAllowed"),
  ),
  ageColumn,
);

/** Autoscalers in their stored form, that of autoscaling/v2. */
export const horizontalPodAutoscalers = layout(
  nameColumn,
  column("Reference", "What is scaled.", (object) => {
    const target = fieldsAt(object, "spec", "scaleTargetRef");
    return `${target.kind ?? ""}/${target.name ?? ""}`;
  }),
  column("Targets", "Each metric as it is, and as it should be.", (object) => {
    const current = objectsAt(object, "status", "currentMetrics");
    const shown = objectsAt(object, "spec", "metrics").map((metric, index) => metricText(metric, current[index] ?? {}));
    return orNone(
      shown.length > 2 ? `${shown.slice(0, 2).join(", ")} + ${shown.length - 2} more...` : shown.join(", "),
    );
  }),
  column("MinPods", "The fewest Pods.", (object) => String(numberAt(object, "spec", "minReplicas") ?? "<unset>")),
  count("MaxPods", "The most Pods.", (object) => numberAt(object, "spec", "maxReplicas")),
  count("Replicas", "Pods now.", (object) => numberAt(object, "status", "currentReplicas")),
  ageColumn,
);

const METRIC_SOURCES = ["resource", "containerResource", "pods", "object", "external"] as const;

function metricText(metric: Fields, now: Fields): string {
  const source = METRIC_SOURCES.find((key) => metric[key]);
  if (!source) return "<unknown type>";
  const target = fieldsAt(metric, source, "target");
  const current = fieldsAt(now, source, "current");
  const utilization = numberAt(target, "averageUtilization");
  const seen =
    utilization === undefined
      ? (current.averageValue ?? current.value)
      : percent(numberAt(current, "averageUtilization"));
  const wished = utilization === undefined ? (target.averageValue ?? target.value ?? "<auto>") : percent(utilization);
  const name = source === "resource" || source === "containerResource" ? `${textAt(metric, source, "name")}: ` : "";
  return `${name}${seen ?? "<unknown>"}/${wished}`;
}

function percent(value: number | undefined): string | undefined {
  return value === undefined ? undefined : `${value}%`;
}

export const endpointSlices = layout(
  nameColumn,
  column("AddressType", "What kind of addresses it holds.", (object) => textAt(object, "addressType")),
  column("Ports", "The ports that answer.", (object) => {
    const ports = objectsAt(object, "ports").map((port) => String(port.port ?? "*"));
    return ports.length === 0 ? "<unset>" : firstThree(ports);
  }),
  column("Endpoints", "The first addresses.", (object) => {
    const addresses = objectsAt(object, "endpoints").flatMap((endpoint) => textsAt(endpoint, "addresses"));
    return addresses.length === 0 ? "<unset>" : firstThree(addresses);
  }),
  ageColumn,
);

const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";

export const storageClasses = layout(
  {
    ...nameColumn,
    cell: ({ metadata }) =>
      metadata.annotations?.[DEFAULT_CLASS] === "true" ? `${metadata.name} (default)` : metadata.name,
  },
  column("Provisioner", "Who makes the volumes.", (object) => textAt(object, "provisioner")),
  column("ReclaimPolicy", "What becomes of released volumes.", (object) => textAt(object, "reclaimPolicy") || "Delete"),
  column("VolumeBindingMode", "When volumes are made.", (object) => textAt(object, "volumeBindingMode") || "Immediate"),
  column(
    "AllowVolumeExpansion",
    "Whether volumes may grow.",
    (object) => object.allowVolumeExpansion === true,
    "boolean",
  ),
  ageColumn,
);

export const priorityClasses = layout(
  nameColumn,
  count("Value", "The priority of Pods of this class.", (object) => numberAt(object, "value")),
  column(
    "Global-Default",
    "Whether Pods without a class get this one.",
    (object) => object.globalDefault === true,
    "boolean",
  ),
  ageColumn,
  ...wide(
    column("PreemptionPolicy", "Whether Pods of this class displace others.", (object) =>
      textAt(object, "preemptionPolicy"),
    ),
  ),
);

export const runtimeClasses = layout(
  nameColumn,
  column("Handler", "What runs Pods of this class.", (object) => textAt(object, "handler")),
  ageColumn,
);

export const csiDrivers = layout(
  nameColumn,
  column(
    "AttachRequired",
    "Whether volumes are attached before they are mounted.",
    (object) => at(object, "spec", "attachRequired") !== false,
    "boolean",
  ),
  column(
    "PodInfoOnMount",
    "Whether the driver is told about the Pod.",
    (object) => at(object, "spec", "podInfoOnMount") === true,
    "boolean",
  ),
  ageColumn,
);

/** Webhook configurations, mutating or validating. */
export const webhookConfigurations = layout(
  nameColumn,
  count("Webhooks", "How many webhooks it has.", (object) => listAt(object, "webhooks").length),
  ageColumn,
);

export const flowSchemas = layout(
  nameColumn,
  column("PriorityLevel", "The priority level of matching requests.", (object) =>
    textAt(object, "spec", "priorityLevelConfiguration", "name"),
  ),
  count("MatchingPrecedence", "Lower ones are asked first.", (object) =>
    numberAt(object, "spec", "matchingPrecedence"),
  ),
  column("DistinguisherMethod", "How requests are told apart.", (object) =>
    orNone(textAt(object, "spec", "distinguisherMethod", "type")),
  ),
  ageColumn,
  column("MissingPL", "Whether the priority level is missing.", (object) => {
    const dangling = objectsAt(object, "status", "conditions").find(({ type }) => type === "Dangling");
    return textAt(dangling, "status") || "?";
  }),
);

export const priorityLevels = layout(
  nameColumn,
  column("Type", "Whether requests are limited.", (object) => textAt(object, "spec", "type")),
  column("NominalConcurrencyShares", "Its share of the server.", (object) =>
    String(
      at(object, "spec", "limited", "nominalConcurrencyShares") ??
        at(object, "spec", "exempt", "nominalConcurrencyShares") ??
        NONE,
    ),
  ),
  ...(["queues", "handSize", "queueLengthLimit"] as const).map((key) =>
    column(`${key[0]?.toUpperCase()}${key.slice(1)}`, "How waiting requests are queued.", (object) =>
      String(at(object, "spec", "limited", "limitResponse", "queuing", key) ?? NONE),
    ),
  ),
  ageColumn,
);

export const apiServices = layout(
  nameColumn,
  column("Service", "Who serves the group version.", (object) => {
    const service = new Map(textMapAt(object, "spec", "service"));
    return service.has("name") ? `${service.get("namespace") ?? ""}/${service.get("name")}` : "Local";
  }),
  column("Available", "Whether it answers.", (object) => {
    const available = objectsAt(object, "status", "conditions").find(({ type }) => type === "Available");
    if (!available) return "Unknown";
    return available.status === "True" ? "True" : `${available.status} (${available.reason ?? ""})`;
  }),
  ageColumn,
);
