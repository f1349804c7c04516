/** The core group: what has no file of its own is declared here. */
import type { DynamicObject } from "#api/meta";
import { equal } from "#lib/json";
import { field } from "../errors.ts";
import type { GroupVersionKind, Resource } from "../resource.ts";
import { configMaps, secrets } from "./data.ts";
import type { KindDependencies } from "./dependencies.ts";
import { endpoints } from "./endpoints.ts";
import { events } from "./events.ts";
import { at, ensure, fieldsAt, fillText, objectsAt, textAt } from "./fields.ts";
import { namespaces } from "./namespaces.ts";
import { defaultPodTemplate } from "./pod-defaults.ts";
import { validatePodTemplate } from "./pod-validation.ts";
import { bindings, pods } from "./pods.ts";
import { replicationControllers } from "./replication-controllers.ts";
import { services } from "./services.ts";
import { bodyOf, resource } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import * as tables from "./tables/core.ts";
import { nameAndAge } from "./tables/layout.ts";
import { podTemplates } from "./tables/workloads.ts";

export function coreResources(dependencies: KindDependencies): Resource[] {
  return [
    namespaces,
    configMaps,
    secrets,
    serviceAccounts(dependencies),
    pods(dependencies),
    bindings(dependencies),
    services(dependencies),
    nodes,
    events,
    endpoints,
    persistentVolumes,
    persistentVolumeClaims,
    replicationControllers,
    podTemplateObjects,
    limitRanges,
    resourceQuotas,
    componentStatuses,
  ];
}

const core = (kind: string): GroupVersionKind => ({ group: "", version: "v1", kind });
const TOKEN_REQUEST: GroupVersionKind = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" };

function serviceAccounts({ issueToken }: KindDependencies): Resource {
  return resource({
    ...core("ServiceAccount"),
    showsDeleted: true,
    plural: "serviceaccounts",
    namespaced: true,
    shortNames: ["sa"],
    table: nameAndAge,
    subresources: [
      {
        name: "token",
        responseKind: TOKEN_REQUEST,
        verbs: ["create"],
        answer: ({ parent, body, context }) => issueToken({ parent, body: bodyOf(TOKEN_REQUEST, body), context }),
      },
    ],
  });
}

const nodes = resource({
  ...core("Node"),
  plural: "nodes",
  namespaced: false,
  shortNames: ["no"],
  table: tables.nodes,
  hasStatus: true,
  selectableFields: { "spec.unschedulable": (node) => String(at(node, "spec", "unschedulable") === true) },
  // A kubelet registers its node with what the node can do: the only kind whose status is taken on create.
  initialStatus: (draft) => fieldsAt(draft, "status"),
  admit: taintNewNode,
  validateChange(node, current) {
    const before = textAt(current, "spec", "providerID");
    if (before === "" || textAt(node, "spec", "providerID") === before) return [];
    return [field.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')];
  },
  subresources: [statusOf(core("Node"))],
});

/** Nothing is put on a node before the controllers have seen that it is ready; they take the taint away. */
function taintNewNode(node: DynamicObject): void {
  const spec = ensure(node, "spec");
  const taints = objectsAt(spec, "taints");
  const taint = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };
  if (taints.some(({ key, effect }) => key === taint.key && effect === taint.effect)) return;
  spec.taints = [...taints, taint];
}

const persistentVolumes = resource({
  ...core("PersistentVolume"),
  showsDeleted: true,
  plural: "persistentvolumes",
  namespaced: false,
  shortNames: ["pv"],
  table: tables.persistentVolumes,
  hasStatus: true,
  initialStatus: () => ({ phase: "Pending" }),
  default: (draft) =>
    fillText(ensure(draft, "spec"), { persistentVolumeReclaimPolicy: "Retain", volumeMode: "Filesystem" }),
  subresources: [statusOf(core("PersistentVolume"))],
});

const persistentVolumeClaims = resource({
  ...core("PersistentVolumeClaim"),
  showsDeleted: true,
  plural: "persistentvolumeclaims",
  namespaced: true,
  shortNames: ["pvc"],
  table: tables.persistentVolumeClaims,
  hasStatus: true,
  initialStatus: () => ({ phase: "Pending" }),
  default: (draft) => fillText(ensure(draft, "spec"), { volumeMode: "Filesystem" }),
  validateChange(claim, current) {
    // A claim may grow and be bound; what it asks for beside that was decided when it was made.
    const fixed = (object: unknown) => {
      const { resources: _r, volumeName: _v, volumeAttributesClassName: _a, ...rest } = fieldsAt(object, "spec");
      return rest;
    };
    if (equal(fixed(claim), fixed(current))) return [];
    return [
      field.forbidden(
        "spec",
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
      ),
    ];
  },
  subresources: [statusOf(core("PersistentVolumeClaim"))],
});

const podTemplateObjects = resource({
  ...core("PodTemplate"),
  showsDeleted: true,
  plural: "podtemplates",
  namespaced: true,
  table: podTemplates,
  tracksGeneration: true,
  default: (draft) => defaultPodTemplate(ensure(draft, "template")),
  validate: (object) => validatePodTemplate(fieldsAt(object, "template"), "template", ["Always", "OnFailure", "Never"]),
});

const limitRanges = resource({
  ...core("LimitRange"),
  plural: "limitranges",
  namespaced: true,
  shortNames: ["limits"],
  createOnUpdate: true,
});

const resourceQuotas = resource({
  ...core("ResourceQuota"),
  showsDeleted: true,
  plural: "resourcequotas",
  namespaced: true,
  shortNames: ["quota"],
  table: tables.resourceQuotas,
  hasStatus: true,
  subresources: [statusOf(core("ResourceQuota"))],
});

const componentStatuses = resource({
  ...core("ComponentStatus"),
  plural: "componentstatuses",
  namespaced: false,
  shortNames: ["cs"],
  verbs: ["get", "list"],
  table: tables.componentStatuses,
});
