/** Tables of the remaining kinds of the core group. */
import type { DynamicObject } from "#api/meta";
import { at, fieldsAt, listAt, numberAt, objectsAt, textAt, textMapAt, textsAt } from "../fields.ts";
import { age } from "./age.ts";
import { ageColumn, column, count, firstThree, labelsText, layout, NONE, nameColumn, orNone, wide } from "./layout.ts";

const phase = column("Status", "Where in its life the object is.", (object) => {
  return object.metadata.deletionTimestamp ? "Terminating" : textAt(object, "status", "phase");
});

export const namespaces = layout(
  nameColumn,
  column("Status", "Whether the namespace is in use or on its way out.", (object) => textAt(object, "status", "phase")),
  ageColumn,
);

// The column says string and its cells are numbers: that is how kube-apiserver shows both kinds.
const data = column("Data", "How many keys it holds.", (object) => {
  return Object.keys(fieldsAt(object, "data")).length + Object.keys(fieldsAt(object, "binaryData")).length;
});

export const configMaps = layout(nameColumn, data, ageColumn);

export const secrets = layout(
  nameColumn,
  column("Type", "What the data is for.", (object) => textAt(object, "type")),
  data,
  ageColumn,
);

export const nodes = layout(
  nameColumn,
  column("Status", "Whether the node is ready.", (node) => {
    const ready = objectsAt(node, "status", "conditions").find(({ type }) => type === "Ready");
    const shown = !ready ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
    return at(node, "spec", "unschedulable") === true ? `${shown},SchedulingDisabled` : shown;
  }),
  column("Roles", "What the node is used for.", (node) => orNone(nodeRoles(node).join(","))),
  ageColumn,
  column("Version", "The version of the kubelet.", (node) => nodeInfo(node, "kubeletVersion")),
  ...wide(
    column("Internal-IP", "The address inside of the cluster.", (node) => nodeAddress(node, "InternalIP")),
    column("External-IP", "The address outside of the cluster.", (node) => nodeAddress(node, "ExternalIP")),
    column("OS-Image", "The operating system.", (node) => nodeInfo(node, "osImage") || "<unknown>"),
    column("Kernel-Version", "The kernel.", (node) => nodeInfo(node, "kernelVersion") || "<unknown>"),
    column(
      "Container-Runtime",
      "What runs containers.",
      (node) => nodeInfo(node, "containerRuntimeVersion") || "<unknown>",
    ),
  ),
);

const ROLE_PREFIX = "node-role.kubernetes.io/";

function nodeRoles({ metadata }: DynamicObject): string[] {
  const roles = textMapAt(metadata.labels).flatMap(([key, value]) => {
    if (key.startsWith(ROLE_PREFIX) && key.length > ROLE_PREFIX.length) return [key.slice(ROLE_PREFIX.length)];
    return key === "kubernetes.io/role" && value !== "" ? [value] : [];
  });
  return [...new Set(roles)].sort();
}

function nodeInfo(node: DynamicObject, key: string): string {
  return textAt(node, "status", "nodeInfo", key);
}

function nodeAddress(node: DynamicObject, type: string): string {
  return orNone(
    textAt(
      objectsAt(node, "status", "addresses").find((address) => address.type === type),
      "address",
    ),
  );
}

export const services = layout(
  nameColumn,
  column("Type", "How the Service is reached.", (service) => textAt(service, "spec", "type")),
  column("Cluster-IP", "The address inside of the cluster.", (service) => orNone(textAt(service, "spec", "clusterIP"))),
  column("External-IP", "Addresses outside of the cluster.", externalAddresses),
  column("Port(s)", "The ports, with node ports and protocols.", (service) => {
    const ports = objectsAt(service, "spec", "ports").map(({ port, nodePort, protocol }) => {
      return `${port}${nodePort ? `:${nodePort}` : ""}/${protocol ?? "TCP"}`;
    });
    return orNone(ports.join(","));
  }),
  ageColumn,
  ...wide(column("Selector", "Which Pods answer.", (service) => labelsText(at(service, "spec", "selector")))),
);

function externalAddresses(service: DynamicObject): string {
  const type = textAt(service, "spec", "type");
  if (type === "ExternalName") return textAt(service, "spec", "externalName");
  const given = textsAt(service, "spec", "externalIPs");
  if (type !== "LoadBalancer") return orNone(given.join(","));
  const ingress = objectsAt(service, "status", "loadBalancer", "ingress").map(
    (entry) => textAt(entry, "ip") || textAt(entry, "hostname"),
  );
  return [...ingress, ...given].filter((address) => address !== "").join(",") || "<pending>";
}

export const endpoints = layout(
  nameColumn,
  column("Endpoints", "The first addresses that answer.", (object) => {
    const all = objectsAt(object, "subsets").flatMap((subset) => {
      const ports = objectsAt(subset, "ports");
      const addresses = objectsAt(subset, "addresses").map((address) => textAt(address, "ip"));
      if (ports.length === 0) return addresses;
      return ports.flatMap(({ port }) => addresses.map((address) => hostPort(address, port)));
    });
    return firstThree(all);
  }),
  ageColumn,
);

function hostPort(address: string, port: unknown): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Events in their stored form, that of the core group. */
export const events = layout(
  column("Last Seen", "The time since it happened last.", (event, now) => age(lastSeen(event), now)),
  column("Type", "Normal or Warning.", (event) => textAt(event, "type")),
  column("Reason", "Why it happened, in one word.", (event) => textAt(event, "reason")),
  column("Object", "What it happened to.", (event) => {
    const kind = textAt(event, "involvedObject", "kind").toLowerCase();
    const name = textAt(event, "involvedObject", "name");
    return name ? `${kind}/${name}` : kind;
  }),
  ...wide(
    column("Subobject", "The part of the object it is about.", (event) => textAt(event, "involvedObject", "fieldPath")),
    column("Source", "Who reports it.", (event) => {
      const component = textAt(event, "source", "component") || textAt(event, "reportingComponent");
      const host = textAt(event, "source", "host");
      return host ? `${component}, ${host}` : component;
    }),
  ),
  column("Message", "What happened.", (event) => textAt(event, "message").trim()),
  ...wide(
    column("First Seen", "The time since it happened first.", (event, now) =>
      age(textAt(event, "firstTimestamp") || at(event, "eventTime"), now),
    ),
    count(
      "Count",
      "How often it happened.",
      (event) => numberAt(event, "series", "count") || numberAt(event, "count") || 1,
    ),
    nameColumn,
  ),
);

function lastSeen(event: DynamicObject): unknown {
  const observed = at(event, "series", "lastObservedTime") || at(event, "lastTimestamp");
  return observed || at(event, "firstTimestamp") || at(event, "eventTime");
}

const ACCESS_MODES = new Map([
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
]);

function accessModes(modes: readonly string[]): string {
  return [...ACCESS_MODES].flatMap(([mode, short]) => (modes.includes(mode) ? [short] : [])).join(",");
}

const volumeMode = wide(
  column(
    "VolumeMode",
    "Whether it is a file system or a raw device.",
    (object) => textAt(object, "spec", "volumeMode") || "<unset>",
  ),
);

export const persistentVolumes = layout(
  nameColumn,
  column("Capacity", "How much it holds.", (object) => textAt(object, "spec", "capacity", "storage")),
  column("Access Modes", "Who may mount it at once.", (object) => accessModes(textsAt(object, "spec", "accessModes"))),
  column("Reclaim Policy", "What becomes of it when it is released.", (object) =>
    textAt(object, "spec", "persistentVolumeReclaimPolicy"),
  ),
  phase,
  column("Claim", "The claim it is bound to.", (object) => {
    const claim = fieldsAt(object, "spec", "claimRef");
    return claim.name ? `${claim.namespace ?? ""}/${claim.name}` : "";
  }),
  column("StorageClass", "The class it belongs to.", (object) => textAt(object, "spec", "storageClassName")),
  column(
    "VolumeAttributesClass",
    "The class of its attributes.",
    (object) => textAt(object, "spec", "volumeAttributesClassName") || "<unset>",
  ),
  column("Reason", "Why it is in its state.", (object) => textAt(object, "status", "reason")),
  ageColumn,
  ...volumeMode,
);

export const persistentVolumeClaims = layout(
  nameColumn,
  phase,
  column("Volume", "The volume it is bound to.", (object) => textAt(object, "spec", "volumeName")),
  column("Capacity", "How much the volume holds.", (object) => textAt(object, "status", "capacity", "storage")),
  column("Access Modes", "Who may mount the volume at once.", (object) =>
    accessModes(textsAt(object, "status", "accessModes")),
  ),
  column("StorageClass", "The class asked for.", (object) => textAt(object, "spec", "storageClassName")),
  column(
    "VolumeAttributesClass",
    "The class of attributes asked for.",
    (object) => textAt(object, "spec", "volumeAttributesClassName") || "<unset>",
  ),
  ageColumn,
  ...volumeMode,
);

export const resourceQuotas = layout(
  nameColumn,
  column("Request", "What is used of each request.", (object) => quotaText(object, false)),
  column("Limit", "What is used of each limit.", (object) => quotaText(object, true)),
  ageColumn,
);

function quotaText(object: DynamicObject, limits: boolean): string {
  const used = fieldsAt(object, "status", "used");
  return textMapAt(object, "status", "hard")
    .filter(([key]) => key.startsWith("limits.") === limits)
    .map(([key, hard]) => `${key}: ${used[key] ?? 0}/${hard}`)
    .sort()
    .join(", ");
}

export const componentStatuses = layout(
  nameColumn,
  column("Status", "Whether the component is healthy.", (object) => {
    const healthy = objectsAt(object, "conditions").find(({ type }) => type === "Healthy");
    return healthy?.status === "True" ? "Healthy" : healthy ? "Unhealthy" : "Unknown";
  }),
  column("Message", "What the check said.", (object) => textAt(listAt(object, "conditions")[0], "message")),
  column(
    "Error",
    "What went wrong with the check.",
    (object) => textAt(listAt(object, "conditions")[0], "error") || NONE,
  ),
);
